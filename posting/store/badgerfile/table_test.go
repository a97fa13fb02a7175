package badgerfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"mizan/posting/store/damage"
)

// writtenTable returns the path of a table that Badger has written, with 40 rows of one size, each
// in a block of its own.
func writtenTable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := badger.OpenManaged(badger.DefaultOptions(dir).WithLogger(nil).WithCompression(options.None))
	if err != nil {
		t.Fatal(err)
	}
	batch := db.NewManagedWriteBatch()
	for i := range 40 {
		if err := batch.SetEntryAt(badger.NewEntry(fmt.Appendf(nil, "k%02d", i), bytes.Repeat([]byte("x"), 3000)), 7); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(batch.Flush(), db.Close()); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*"+tableSuffix))
	if err != nil || len(tables) != 1 {
		t.Fatalf("Badger has written %v, %v", tables, err)
	}
	return tables[0]
}

func TestBadgersTableIsReadBack(t *testing.T) {
	path := writtenTable(t)
	table, err := readTable(path)
	if err != nil || table.maxVersion != 7 || table.ID != 1 {
		t.Errorf("readTable = %+v, %v", table, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	identity, err := identifyTable(path)
	if err != nil || identity != (Table{ID: 1, Size: info.Size(), Sum: table.Sum}) {
		t.Errorf("identifyTable = %+v, %v", identity, err)
	}
}

func TestMisplacedBlockIsDetected(t *testing.T) {
	path := writtenTable(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key10, key20 := bytes.Index(b, []byte("k10")), bytes.Index(b, []byte("k20"))
	size := (key20 - key10) / 10
	block10 := bytes.Clone(b[key10-4 : key10-4+size]) // a block begins 4 bytes before its key
	copy(b[key10-4:], b[key20-4:key20-4+size])
	copy(b[key20-4:], block10)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var damaged *damage.Error
	if _, err := readTable(path); !errors.As(err, &damaged) || !strings.Contains(damaged.What, "block") {
		t.Errorf("readTable = %v, want a *damage.Error of a block", err)
	}
}
