package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
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

// Open refuses such a store each time with the same error of one line, because it changes nothing in the store.
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

// Open reads HEAD, which has a format version of its own, before the schema's row.
func TestOtherHeadFormatMeansOtherRelease(t *testing.T) {
	for headVersion, want := range map[byte]error{'1': ErrOlderSchema, headMagic[len(headMagic)-1] + 1: ErrNewerSchema} {
		for _, intactSlots := range []int{1, 2} {
			dir := t.TempDir()
			s := open(t, Options{Dir: dir})
			set(t, s, "a", "1", "b", "2")
			closeStore(t, s)
			path := filepath.Join(dir, headName)
			head := readFile(t, path)
			for i := range 2 {
				slot := head[i*slotSize : (i+1)*slotSize]
				slot[len(headMagic)-1] = headVersion
				if i < intactSlots {
					binary.BigEndian.PutUint32(slot[slotSumOffset:], crc32.Checksum(slot[:slotSumOffset], castagnoli))
				}
			}
			if err := os.WriteFile(path, head, 0o600); err != nil {
				t.Fatal(err)
			}
			if s, err := Open(Options{Dir: dir, Log: discardLog}); !errors.Is(err, want) || !IsOtherSchema(err) || strings.Contains(err.Error(), "\n") {
				t.Errorf("format %c, %d whole slots: Open = %v, %v, want %v", headVersion, intactSlots, s, err, want)
			}
			if err := os.RemoveAll(filepath.Join(dir, storeName)); err != nil {
				t.Fatal(err)
			}
			if s, err := Open(Options{Dir: dir, Log: discardLog}); !errors.Is(err, want) {
				t.Errorf("format %c, without a store: Open = %v, %v, want %v", headVersion, s, err, want)
			}
		}
	}
}
