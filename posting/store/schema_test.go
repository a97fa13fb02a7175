package store

import (
	"crypto/sha256"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// storeWithSchema returns the directory of a store whose schema version is replaced by the given one.
func storeWithSchema(t *testing.T, schemaVersion byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := open(t, Options{Dir: dir})
	txn := s.db.NewTransactionAt(math.MaxUint64, true)
	defer txn.Discard()
	if err := txn.SetEntry(schemaEntry(schemaVersion)); err != nil {
		t.Fatal(err)
	}
	if err := txn.CommitAt(schemaRowVersion, nil); err != nil {
		t.Fatal(err)
	}
	set(t, s, "a", "1", "b", "2")
	closeStore(t, s)
	return dir
}

// schemaRowVersion is the Badger version of the schema's row.
var schemaRowVersion = version(0)

// Open refuses a store with another schema each time, with the same error of one line, and changes nothing in the store.
func TestOtherSchemaIsRefused(t *testing.T) {
	for storedVersion, want := range map[byte]error{1: ErrOlderSchema, schema - 1: ErrOlderSchema, schema + 1: ErrNewerSchema, 255: ErrNewerSchema} {
		dir := storeWithSchema(t, storedVersion)
		for range 2 {
			s, err := Open(Options{Dir: dir, Log: discardLog})
			if err == nil {
				closeStore(t, s)
			}
			if !errors.Is(err, want) || !IsOtherSchema(err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("schema %d: Open = %v, want %v", storedVersion, err, want)
			}
		}
	}
	closeStore(t, open(t, Options{Dir: storeWithSchema(t, schema)}))
}

func TestStoreWithoutASchemaIsDamaged(t *testing.T) {
	for name, value := range map[string][]byte{"empty": {}, "zero": {0}, "two bytes": {1, 1}} {
		dir := t.TempDir()
		s := open(t, Options{Dir: dir})
		txn := s.db.NewTransactionAt(math.MaxUint64, true)
		key := []byte(schemaKey)
		if err := txn.SetEntry(badger.NewEntry(key, appendChecksum(key, value))); err != nil {
			t.Fatal(err)
		}
		if err := txn.CommitAt(version(0), nil); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		if s, err := Open(Options{Dir: dir, Log: discardLog}); !isDamage(err) {
			t.Errorf("%s: Open = %v", name, err)
			closeStore(t, s)
		}
	}
}

// The log has a version of its own form. Open reads this version before the schema's row.
func TestOtherFormOfTheLogMeansOtherRelease(t *testing.T) {
	const versionAt, sumAt = 7, 112 // in the header of a segment, which ends with its SHA-256
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	set(t, s, "a", "1", "b", "2")
	closeStore(t, s)
	path := segments(t, dir)[0]
	header := readFile(t, path)[:sumAt+sha256.Size]
	header[versionAt]++
	sum := sha256.Sum256(header[:sumAt])
	copy(header[sumAt:], sum[:])
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(header, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"with a store", "without a store"} {
		if s, err := Open(Options{Dir: dir, Log: discardLog}); !errors.Is(err, ErrNewerSchema) || !IsOtherSchema(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: Open = %v, %v, want ErrNewerSchema", what, s, err)
		}
		dropTree(t, filepath.Join(dir, storeName))
	}
}
