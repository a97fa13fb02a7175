package filelock

import (
	"errors"
	"os"
	"syscall"
)

// ErrHeld means that another open file holds the lock, usually in another process.
var ErrHeld = errors.New("the lock is held")

// Try takes the lock of the file, or returns ErrHeld immediately. Any other error is the
// system's, without the file's name.
func Try(f *os.File) error {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

// Wait takes the lock of the file, and waits as long as another open file holds it. The error
// is the system's, without the file's name.
func Wait(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// Release releases the lock of the file and closes it. Closing the file alone may free the lock later: while any goroutine starts
// a process, that process has a copy of each open file for a moment, and with the copy it holds the lock.
func Release(f *os.File) error { return errors.Join(flock(f, syscall.LOCK_UN), f.Close()) }

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
