package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

var (
	// ErrLocked says that another process has the store open.
	ErrLocked = errors.New("the data directory is in use by another process")

	// ErrNewerSchema says that a newer release has written the store.
	ErrNewerSchema = errors.New("the store was written by a newer release")

	// ErrOlderSchema says that the store has rows of forms that this release does not
	// read. No release before the first one is migrated from.
	ErrOlderSchema = errors.New("the store was written by an older release, whose rows this one does not read")

	// ErrNoSpace says that the disk has too little room to open or to write.
	ErrNoSpace = errors.New("not enough free space on the disk")

	// ErrClosed is the answer of a store that was closed.
	ErrClosed = errors.New("the store is closed")
)

// IsOtherSchema tells whether an error is that a store, or a backup of one, was
// written by a release whose rows this one does not read.
func IsOtherSchema(err error) bool {
	return errors.Is(err, ErrNewerSchema) || errors.Is(err, ErrOlderSchema)
}

// DamageError says that what the disk holds is not what was written to it.
type DamageError struct {
	Path string // the file or directory; empty if only the row is known
	What string
}

// Error ends with what to do about it.
func (e *DamageError) Error() string {
	if e.Path == "" {
		return "the store is damaged: " + e.What + "; restore from a backup"
	}
	return fmt.Sprintf("the store is damaged: %s: %s; restore from a backup", e.Path, e.What)
}

func damaged(path, format string, args ...any) *DamageError {
	return &DamageError{Path: path, What: fmt.Sprintf(format, args...)}
}

// verdictName is the file that says that rows are known to be lost. No later
// examination could find that out: what is there is sound.
const verdictName = "DAMAGED"

// condemn stops the store for good, and every later Open of it.
func (s *Store) condemn(what string) {
	path := filepath.Join(s.options.Dir, verdictName)
	err := writeWhole(path, []byte(what))
	if err == nil {
		err = syncDir(s.options.Dir)
	}
	if err != nil {
		s.log.Error("a verdict could not be written", "path", path, "error", err)
	}
	s.fail(damaged(s.path, "%s", what))
}

// condemned refuses a store that was condemned.
func (s *Store) condemned() error {
	what, err := os.ReadFile(filepath.Join(s.options.Dir, verdictName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return damaged(s.path, "%.100q was found when it was last open", what)
}
