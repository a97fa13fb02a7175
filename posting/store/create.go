package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/durable"
	"mizan/posting/log"
	"mizan/posting/store/damage"
)

// createIfNew makes an empty store if there is none. It builds the store in a directory with a temporary name, makes the log,
// and then renames the directory. So after a crash there is either a complete store with its log, or no store and at most a
// log without groups. In the second case the next start builds the store again.
func (s *Store) createIfNew() error {
	entries, err := os.ReadDir(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	if len(entries) > 0 {
		return nil
	}
	if err := s.refuseIfStoreWasLost(); err != nil {
		return err
	}
	if err := s.refuseIfFilesRemain(); err != nil {
		return err
	}
	if s.options.MustExist {
		return fmt.Errorf("store: %s: %w", s.options.Dir, ErrNoStore)
	}
	if err := s.requireRoomToCreate(); err != nil {
		return err
	}
	if err := s.create(); err != nil {
		return fmt.Errorf("store: creating %s: %w", s.path, err)
	}
	return nil
}

// refuseIfStoreWasLost returns an error if there is a log with groups but no store. If the log has no groups, it removes the
// log.
func (s *Store) refuseIfStoreWasLost() error {
	o := s.logOptions()
	if _, err := os.Lstat(o.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	groups, err := log.Open(o)
	if err != nil {
		return logError(s.options.Dir, err)
	}
	last, err := groups.Replay(groups.First(), func(log.Frame) error { return nil })
	_ = groups.Close() // its error does not matter, because nothing was written
	switch {
	case err != nil:
		return logError(s.options.Dir, err)
	case last.N > 0:
		return damage.New(s.path, "it is gone, but the log has group %d", last.N)
	}
	// The directory is renamed before it is removed, because a partly removed log would look like a damaged one.
	removed := filepath.Join(s.options.Dir, buildLogName)
	if err := errors.Join(os.RemoveAll(removed), os.Rename(o.Dir, removed), durable.SyncDir(s.options.Dir)); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return os.RemoveAll(removed)
}

// create builds the store in a directory with a temporary name, and renames the directory when it is complete.
func (s *Store) create() error {
	buildPath := filepath.Join(s.options.Dir, buildName)
	if err := os.RemoveAll(buildPath); err != nil {
		return err
	}
	if err := os.Mkdir(buildPath, 0o700); err != nil {
		return err
	}
	if err := s.createBadger(buildPath); err != nil {
		return err
	}
	if err := s.createLog(log.Mark{}); err != nil {
		return err
	}
	if err := os.Rename(buildPath, s.path); err != nil {
		return err
	}
	if err := durable.SyncDir(s.options.Dir); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Join(s.options.Dir, "..")) // the name of the data directory may be new too
}

// createBadger makes Badger's files in path. After that, Badger has one row: the schema, with the version of group 0.
func (s *Store) createBadger(path string) error {
	db, err := openBadger(s.badgerOptions(path, nil), path)
	if err != nil {
		return err
	}
	txn := db.NewTransactionAt(math.MaxUint64, true)
	defer txn.Discard()
	err = txn.SetEntry(schemaEntry(schema))
	if err == nil {
		err = txn.CommitAt(version(0), nil)
	}
	if closeErr := s.closeBadger(db); err == nil {
		err = closeErr
	}
	return err
}

func schemaEntry(number byte) *badger.Entry {
	key := []byte(schemaKey)
	return badger.NewEntry(key, appendChecksum(key, []byte{number}))
}
