package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// UnfinishedName is the file that marks a data directory whose restore has begun and is not
// accepted yet. A restore creates this file first and removes it last.
const UnfinishedName = "RESTORING"

// ErrUnfinished is the error for a directory whose restore is not finished.
var ErrUnfinished = errors.New("a restore has begun this directory and not finished it; restore again, under the name that it is to have")

// accepted refuses a directory whose restore is not finished, unless the restore itself opens
// it.
func (s *Store) accepted() error {
	if s.options.Unfinished {
		return nil
	}
	_, err := os.Lstat(filepath.Join(s.options.Dir, UnfinishedName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("store: %w", err)
	}
	return fmt.Errorf("store: %s: %w", s.options.Dir, ErrUnfinished)
}

// Held returns ErrLocked if a process has the store of a directory open. It does not change the
// directory.
func Held(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if f, err = take(f, dir); err != nil {
		return err
	}
	return f.Close()
}
