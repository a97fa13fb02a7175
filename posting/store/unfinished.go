package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// UnfinishedName is the file by which a data directory is known that a restore has
// begun and not accepted. Whoever makes such a directory makes the file first and
// removes it last.
const UnfinishedName = "RESTORING"

// ErrUnfinished says that a restore has not finished the directory.
var ErrUnfinished = errors.New("a restore has begun this directory and not finished it; restore again, under the name that it is to have")

// accepted refuses a directory that a restore has not finished, but to the restore.
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

// Held tells whether a process has the store of a directory open: ErrLocked. The
// directory stays as it is.
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
