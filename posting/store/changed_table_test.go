package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A table that is changed while it is open makes Badger panic. The store then fails: the process must end, because nobody knows which rows are missing.
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
			closeStore(t, s) // writes the tables
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
			sn.Close() // every iterator is closed
			if err := s.Failure(); !isDamage(err) {
				t.Errorf("the store's failure is %v", err)
			}
			settle(s)
		})
	}
}

// changedValue is the value of each row of the test; its checksum follows it in the table, and then the next row.
var changedValue = strings.Repeat("v", 100)

// clearHeaders overwrites the header of each row of a table in place: how much of its key is that of the block's first row, and how long the
// rest is.
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
