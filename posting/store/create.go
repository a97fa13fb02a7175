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
// renames it when HEAD exists. A crash leaves either a complete store with its HEAD, or no store and at
// most a HEAD of group 0. In the second case the next start builds the store again.
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

// refuseIfStoreWasLost refuses to make a new store if there is a HEAD of an older store.
func (s *Store) refuseIfStoreWasLost() error {
	path := filepath.Join(s.options.Dir, headName)
	h, err := openHead(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	headMark, validSlots, err := h.read()
	_ = h.close() // only read
	switch {
	case err != nil:
		return fmt.Errorf("store: %w", err)
	case validSlots == 0:
		return damage.New(path, "neither of its slots is valid, and there is no store beside it")
	case headMark.n > 0:
		return damage.New(s.path, "it is gone, but HEAD knows group %d", headMark.n)
	}
	return nil
}

// create builds the store beside its place and moves it there.
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
	if err := createHead(filepath.Join(s.options.Dir, headName)); err != nil {
		return err
	}
	if err := os.Rename(buildPath, s.path); err != nil {
		return err
	}
	if err := durable.SyncDir(s.options.Dir); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Join(s.options.Dir, "..")) // the directory itself may be new
}

// createBadger makes Badger's files in path, with one row: the schema, at the Badger version of group 0.
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
