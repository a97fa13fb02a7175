package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If a table is changed while it is open, Badger panics. Then the store fails, and the process must end, because it is
// unknown which rows are missing.
func TestTableThatChangesWhileItIsOpenFailsTheStore(t *testing.T) {
	each := func(_, _ []byte) (bool, error) { return true, nil }
	for name, readRows := range map[string]func(sn *Snapshot) error{
		"ascending":  func(sn *Snapshot) error { return sn.Ascend([]byte("r"), nil, each) },
		"descending": func(sn *Snapshot) error { return sn.Descend([]byte("r"), nil, each) },
		"one row": func(sn *Snapshot) error {
			_, _, err := sn.Get([]byte("r0500"), nil)
			return err
		},
		"places": func(sn *Snapshot) error {
			_, err := sn.store.somePlaces([]byte("r"), []byte("r"), nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
			for i := range 20 {
				var rows []string
				for k := range 50 {
					rows = append(rows, fmt.Sprintf("r%04d", 50*i+k), changedValue)
				}
				set(t, s, rows...)
			}
			closeStore(t, s) // closing writes the rows into tables
			s = open(t, Options{Dir: s.options.Dir, MemTable: minMemTable})
			tables, err := filepath.Glob(filepath.Join(s.path, "*.sst"))
			if err != nil || len(tables) == 0 {
				t.Fatal(tables, err)
			}
			for _, table := range tables {
				clearHeaders(t, table)
			}
			sn := s.Snapshot()
			if err := readRows(sn); !isDamage(err) || unclear(err) != nil {
				t.Errorf("reading ended with %v", err)
			}
			sn.Close() // Close works: the failed reads have closed their iterators
			if err := s.Failure(); !isDamage(err) {
				t.Errorf("the store's failure is %v", err)
			}
			settle(s)
		})
	}
}

// changedValue is the value of each row of the test; its checksum follows it in the table, and then the next row.
var changedValue = strings.Repeat("v", 100)

// clearHeaders overwrites the header of each row of a table in place. The header says how many bytes of the row's key equal those
// of the block's first key, and how many further bytes the key has.
func clearHeaders(t *testing.T, path string) {
	t.Helper()
	content := readFile(t, path)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for at := 0; ; {
		next := bytes.Index(content[at:], []byte(changedValue))
		if next < 0 {
			return
		}
		at += next + len(changedValue)
		if _, err := f.WriteAt(make([]byte, 4), int64(at+checksumSize)); err != nil {
			t.Fatal(err)
		}
	}
}
