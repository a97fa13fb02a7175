package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"mizan/internal/durable"
	"mizan/posting/store/damage"
)

var (
	// ErrLocked is the error for a store that another process has open.
	ErrLocked = errors.New("the data directory is in use by another process")

	// ErrNewerSchema is the error for a store that a newer release has written.
	ErrNewerSchema = errors.New("the store was written by a newer release")

	// ErrOlderSchema is the error for a store with rows in forms that this release does not
	// read. No release migrates rows from before the first release.
	ErrOlderSchema = errors.New("the store was written by an older release, whose rows this one does not read")

	// ErrNoSpace is the error for a disk with too little room to open or to write.
	ErrNoSpace = errors.New("not enough free space on the disk")

	// ErrUnfinished is the error for a directory whose restore is not finished.
	ErrUnfinished = errors.New("a restore has begun this directory and not finished it; restore again, under the name that it is to have")

	// ErrClosed is the error of a closed store.
	ErrClosed = errors.New("the store is closed")
)

// IsOtherSchema tells whether the error reports a store, or a backup, that was written by a
// release whose rows this release does not read.
func IsOtherSchema(err error) bool {
	return errors.Is(err, ErrNewerSchema) || errors.Is(err, ErrOlderSchema)
}

// DamageError is the error for a disk that does not hold what was written to it.
type DamageError = damage.Error

// damagedFileName is the file that records that rows are known to be lost. A later examination could not
// detect the loss, because the remaining files are sound.
const damagedFileName = "DAMAGED"

// condemn stops the store for good, and makes every later Open of it fail.
func (s *Store) condemn(what string) {
	path := filepath.Join(s.options.Dir, damagedFileName)
	if err := durable.Replace(path, fileMode, []byte(what)); err != nil {
		s.log.Error("a verdict could not be written", "path", path, "error", err)
	}
	s.fail(damage.New(s.path, "%s", what))
}

// checkNotCondemned returns an error if condemn has recorded a loss of rows.
func (s *Store) checkNotCondemned() error {
	what, err := os.ReadFile(filepath.Join(s.options.Dir, damagedFileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return damage.New(s.path, "%.100q was found when it was last open", what)
}

// UnfinishedName is the file that marks a data directory whose restore has begun but is not
// complete. A restore creates this file in its first step and removes it in its last.
const UnfinishedName = "RESTORING"

// checkRestoreFinished returns an error for a directory whose restore is not finished, unless the restore itself
// opens it.
func (s *Store) checkRestoreFinished() error {
	if s.options.AllowUnfinished {
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
