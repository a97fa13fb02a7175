package store

import (
	"math"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// olderStore is the directory of a store that a release with schema 1 has left,
// with so many groups.
func olderStore(t *testing.T, groups int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, Options{Dir: dir})
	txn := s.db.NewTransactionAt(math.MaxUint64, true)
	defer txn.Discard()
	if err := txn.SetEntry(schemaEntry(1)); err != nil {
		t.Fatal(err)
	}
	if err := txn.CommitAt(version(0), nil); err != nil {
		t.Fatal(err)
	}
	for range groups {
		set(t, s, "a", "1", "b", "2")
	}
	closeStore(t, s)
	return dir
}

func (s *Store) wantSchema(t *testing.T, want byte, moment string) {
	t.Helper()
	sn := s.Snapshot()
	defer sn.Close()
	if got := get(t, sn, schemaKey); got != string([]byte{want}) {
		t.Errorf("the schema is %q %s, want %d", got, moment, want)
	}
}

// schemas are the Badger versions with which the schema was ever written, newest
// first.
func (s *Store) schemas() (versions []uint64) {
	txn := s.db.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	it := txn.NewKeyIterator([]byte(schemaKey), badger.IteratorOptions{AllVersions: true})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		versions = append(versions, it.Item().Version())
	}
	return versions
}

func TestAnOlderStoreGetsTheSchemaWithItsNextGroup(t *testing.T) {
	for _, groups := range []int{0, 1, 5} {
		dir := olderStore(t, groups)
		for range 2 { // opening writes nothing that an older release would not understand
			s := open(t, Options{Dir: dir})
			s.wantSchema(t, 1, "after opening")
			closeStore(t, s)
		}
		s := open(t, Options{Dir: dir})
		before := s.Snapshot()
		set(t, s, "c", "3")
		s.wantSchema(t, schema, "after a group")
		if got := get(t, before, schemaKey); got != "\x01" {
			t.Errorf("a snapshot of before shows schema %q", got)
		}
		before.Close()
		set(t, s, "d", "4")
		want := []uint64{version(uint64(groups) + 1), version(0)}
		if got := s.schemas(); !slices.Equal(got, want) {
			t.Errorf("after %d groups the schema was written at versions %v, want %v", groups, got, want)
		}
		closeStore(t, s)
		s = open(t, Options{Dir: dir})
		s.wantSchema(t, schema, "after another opening")
		sn := s.Snapshot()
		for key, want := range map[string]string{"a": "1", "c": "3", "d": "4"} {
			if got := get(t, sn, key); got != want && (groups > 0 || key != "a") {
				t.Errorf("%s is %q, want %q", key, got, want)
			}
		}
		sn.Close()
		set(t, s, "e", "5")
		if got := s.schemas(); got[0] != version(uint64(groups)+1) {
			t.Errorf("the schema was written again: versions %v", got)
		}
		closeStore(t, s)
	}
}

func TestAStoreWithoutASchemaIsDamaged(t *testing.T) {
	for name, value := range map[string][]byte{"none": {}, "zero": {0}, "two bytes": {1, 1}} {
		dir := t.TempDir()
		s := open(t, Options{Dir: dir})
		txn := s.db.NewTransactionAt(math.MaxUint64, true)
		key := []byte(schemaKey)
		if err := txn.SetEntry(badger.NewEntry(key, sealValue(key, value))); err != nil {
			t.Fatal(err)
		}
		if err := txn.CommitAt(version(0), nil); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		if s, err := Open(Options{Dir: dir, Log: quiet}); !isDamage(err) {
			t.Errorf("%s: Open = %v", name, err)
			closeStore(t, s)
		}
	}
}
