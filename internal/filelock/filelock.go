package filelock

import (
	"errors"
	"os"
	"syscall"
)

// ErrHeld means that another open file holds the lock, usually in another process.
var ErrHeld = errors.New("the lock is held")

// Try takes the lock of the file. If another open file holds the lock, Try returns ErrHeld immediately. Any other error comes
// from the system call and does not contain the file's name.
func Try(f *os.File) error {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

// Wait takes the lock of the file, and waits as long as another open file holds the lock. An error comes from the system call
// and does not contain the file's name.
func Wait(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// Release releases the lock of the file and closes the file. Closing alone may not free the lock at once: a child process that
// is just being started has a copy of each open file descriptor for a moment, and the copy keeps the lock.
func Release(f *os.File) error { return errors.Join(flock(f, syscall.LOCK_UN), f.Close()) }

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
