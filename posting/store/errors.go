package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

var (
	// ErrLocked is the error for a store that another process has open.
	ErrLocked = errors.New("the data directory is in use by another process")

	// ErrNewerSchema is the error for a store that a newer release has written.
	ErrNewerSchema = errors.New("the store was written by a newer release")

	// ErrOlderSchema is the error for a store with rows in forms that this release does not
	// read. Rows of releases before the first one are not migrated.
	ErrOlderSchema = errors.New("the store was written by an older release, whose rows this one does not read")

	// ErrNoSpace is the error for a disk with too little room to open or to write.
	ErrNoSpace = errors.New("not enough free space on the disk")

	// ErrClosed is the error of a closed store.
	ErrClosed = errors.New("the store is closed")
)

// IsOtherSchema tells whether the error reports a store, or a backup, that was written by a
// release whose rows this release does not read.
func IsOtherSchema(err error) bool {
	return errors.Is(err, ErrNewerSchema) || errors.Is(err, ErrOlderSchema)
}

// DamageError reports that the disk does not hold what was written to it.
type DamageError struct {
	Path string // the file or directory; empty if only the row is known
	What string
}

// Error returns the text, which ends with the advice to restore from a backup.
func (e *DamageError) Error() string {
	if e.Path == "" {
		return "the store is damaged: " + e.What + "; restore from a backup"
	}
	return fmt.Sprintf("the store is damaged: %s: %s; restore from a backup", e.Path, e.What)
}

func damaged(path, format string, args ...any) *DamageError {
	return &DamageError{Path: path, What: fmt.Sprintf(format, args...)}
}

// verdictName is the file that records that rows are known to be lost. A later examination could
// not find that out, because the remaining files are sound.
const verdictName = "DAMAGED"

// condemn stops the store for good, and makes every later Open of it fail.
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
