package store

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// TestMeasureRows counts the rows of a closed store, and the bytes of keys and values that they have in Badger and in the files of
// long values. MIZAN_FIGURES names the data directory; it is opened as a server opens it, so it must not be in use.
func TestMeasureRows(t *testing.T) {
	dir := os.Getenv("MIZAN_FIGURES")
	if !filepath.IsAbs(dir) {
		t.Skip("a measurement: set MIZAN_FIGURES to the absolute path of a data directory")
	}
	s, err := Open(Options{Dir: dir, MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	type count struct{ rows, keys, values, separated int64 }
	var kinds [256]count
	txn := s.db.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	it := txn.NewIterator(badger.DefaultIteratorOptions)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		item := it.Item()
		n := &kinds[item.Key()[0]]
		n.rows++
		n.keys += item.KeySize()
		n.values += item.ValueSize()
		if item.UserMeta() == metaPlace {
			n.separated++
		}
	}
	var all count
	for kind, n := range kinds {
		if n.rows == 0 {
			continue
		}
		t.Logf("%c: %9d rows (%d with a separate value), %11d bytes of keys, %11d of values", kind, n.rows, n.separated, n.keys, n.values)
		all.rows += n.rows
		all.keys += n.keys
		all.values += n.values
	}
	files, err := filepath.Glob(filepath.Join(s.path, valuesName, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var long int64
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		long += info.Size()
	}
	t.Logf("in all %d rows, %d bytes of keys and values in Badger, %d in %d files of long values", all.rows, all.keys+all.values, long, len(files))
	if all.rows == 0 {
		t.Error("the store has no rows")
	}
}
