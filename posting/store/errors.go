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
	// ErrLocked means that another process has the store open.
	ErrLocked = errors.New("the data directory is in use by another process")

	// ErrNewerSchema means that a newer release has written the store.
	ErrNewerSchema = errors.New("the store was written by a newer release")

	// ErrOlderSchema means that the store has rows in formats that this release does not read. Rows that were written before
	// the first release are not migrated.
	ErrOlderSchema = errors.New("the store was written by an older release, whose rows this one does not read")

	// ErrNoSpace means that the disk has too little room to open the store or to write.
	ErrNoSpace = errors.New("not enough free space on the disk")

	// ErrUnfinished means that a restore into the directory was begun but not finished.
	ErrUnfinished = errors.New("a restore has begun this directory and not finished it; restore again, under the name that it is to have")

	// ErrClosed means that the store is closed.
	ErrClosed = errors.New("the store is closed")
)

// IsOtherSchema tells whether the error means that the store or the backup was written by another release, and that this
// release cannot read its rows.
func IsOtherSchema(err error) bool {
	return errors.Is(err, ErrNewerSchema) || errors.Is(err, ErrOlderSchema)
}

// DamageError means that the disk no longer has what was written to it.
type DamageError = damage.Error

// damagedFileName is the name of a file which says that rows were lost. Without this file, the next Open could not detect the
// loss, because the remaining files are sound.
const damagedFileName = "DAMAGED"

// markDamaged stops the store for good, and makes each later Open return an error. what describes the damage.
func (s *Store) markDamaged(what string) {
	path := filepath.Join(s.options.Dir, damagedFileName)
	if err := durable.Replace(path, fileMode, []byte(what)); err != nil {
		s.log.Error("the record of the damage could not be written", "path", path, "error", err)
	}
	s.fail(damage.New(s.path, "%s", what))
}

// checkNotMarkedDamaged returns an error if markDamaged has recorded a loss of rows.
func (s *Store) checkNotMarkedDamaged() error {
	what, err := os.ReadFile(filepath.Join(s.options.Dir, damagedFileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return damage.New(s.path, "%.100q was found when it was last open", what)
}

// UnfinishedName is the name of a file. It marks a data directory into which a restore has begun but is not complete. A
// restore creates this file in its first step and removes it in its last.
const UnfinishedName = "RESTORING"

// checkRestoreFinished returns ErrUnfinished for a directory whose restore is not finished, unless the restore itself
// opens the directory.
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
