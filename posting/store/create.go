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
	"mizan/posting/store/damage"
)

// createIfNew makes an empty store if there is none. It builds the store under another name and
// renames it after HEAD exists. After a crash there is a complete store with its HEAD, or no store and at
// most a HEAD of group 0. In the second case the next start builds the store again.
func (s *Store) createIfNew() error {
	entries, err := os.ReadDir(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	if len(entries) > 0 {
		return nil
	}
	if err := s.refuseIfLost(); err != nil {
		return err
	}
	if err := s.refuseIfRemains(); err != nil {
		return err
	}
	if s.options.Existing {
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

// refuseIfLost refuses to make a new store if there is a HEAD of an older store.
func (s *Store) refuseIfLost() error {
	path := filepath.Join(s.options.Dir, headName)
	h, err := openHead(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	known, slots, err := h.read()
	_ = h.close() // only read
	switch {
	case err != nil:
		return fmt.Errorf("store: %w", err)
	case slots == 0:
		return damage.New(path, "neither of its slots is valid, and there is no store beside it")
	case known.n > 0:
		return damage.New(s.path, "it is gone, but HEAD knows group %d", known.n)
	}
	return nil
}

func (s *Store) create() error {
	building := filepath.Join(s.options.Dir, buildName)
	if err := os.RemoveAll(building); err != nil {
		return err
	}
	if err := os.Mkdir(building, 0o700); err != nil {
		return err
	}
	if err := s.bootstrap(building); err != nil {
		return err
	}
	if err := createHead(filepath.Join(s.options.Dir, headName)); err != nil {
		return err
	}
	if err := os.Rename(building, s.path); err != nil {
		return err
	}
	if err := durable.SyncDir(s.options.Dir); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Join(s.options.Dir, "..")) // the directory itself may be new
}

// bootstrap writes the row of the schema, at the Badger version of group 0 (which is 1).
func (s *Store) bootstrap(path string) error {
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

func schemaEntry(version byte) *badger.Entry {
	key := []byte(schemaKey)
	return badger.NewEntry(key, appendChecksum(key, []byte{version}))
}
