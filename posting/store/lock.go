package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"mizan/internal/filelock"
)

const lockName = "LOCK"

// lockDirectory takes the lock of a data directory. The lock holds as long as the returned file is open.
// It must be taken before Badger is opened, because Badger's own lock covers only store/.
func lockDirectory(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return lockFile(f, dir)
}

// lockBadger takes the lock that Badger itself holds while it has the directory open. This lock
// protects the store even if LOCK was deleted. The caller must release the lock before opening
// Badger, which takes the lock itself.
func lockBadger(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return lockFile(f, path)
}

// lockFile locks the file f, whose lock is that of the directory dir. After an error f is closed.
func lockFile(f *os.File, dir string) (*os.File, error) {
	err := filelock.Try(f)
	if err == nil {
		return f, nil
	}
	_ = f.Close() // nothing was written
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("store: %s: %w", dir, ErrLocked)
	}
	return nil, fmt.Errorf("store: locking %s: %w", f.Name(), err)
}

// CheckNotOpen returns ErrLocked if a process has the store of a directory open. It does not change the
// directory.
func CheckNotOpen(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if f, err = lockFile(f, dir); err != nil {
		return err
	}
	return filelock.Release(f)
}
