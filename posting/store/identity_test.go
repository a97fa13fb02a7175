package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// If a directory has lost its store, Open makes no new store there, whichever other files remain.
func TestNoNewStoreInADirectoryThatLostItsStore(t *testing.T) {
	for name, remainingFiles := range map[string][]string{
		"all other files":           {identityName, catalogName, "others"},
		"its identity":              {identityName},
		"its catalog of tables":     {catalogName},
		"a file of another package": {"others"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, Options{Dir: dir, MemTable: minMemTable})
			set(t, s, "a", "1")
			closeStore(t, s)
			if err := os.WriteFile(filepath.Join(dir, "others"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, f := range []string{storeName, logName, identityName, catalogName, "others"} {
				if !slices.Contains(remainingFiles, f) {
					if err := os.RemoveAll(filepath.Join(dir, f)); err != nil {
						t.Fatal(err)
					}
				}
			}
			o := Options{Dir: dir, MemTable: minMemTable, Log: discardLog, OtherFiles: []string{"others"}}
			if s, err := Open(o); !errors.Is(err, ErrRemains) || unclear(err) != nil || !strings.Contains(err.Error(), filepath.Join(dir, remainingFiles[0])) {
				t.Fatalf("Open = %v, %v, want ErrRemains of %s", s, err, remainingFiles[0])
			}
			for _, f := range remainingFiles {
				remove(t, filepath.Join(dir, f))
			}
			closeStore(t, open(t, o)) // an empty directory gets a new store
		})
	}
}

// A store's identity is stored in three places: the store itself, the log, and the file IDENTITY. They must agree.
func TestFilesOfAnotherStoreAreRefused(t *testing.T) {
	dirs := [2]string{t.TempDir(), t.TempDir()}
	for i, dir := range dirs {
		s := open(t, Options{Dir: dir, MemTable: minMemTable})
		if err := s.Bind([32]byte{byte(i + 1)}); err != nil {
			t.Fatal(err)
		}
		set(t, s, "a", dir)
		closeStore(t, s)
	}
	for _, name := range []string{logName, identityName} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			copyTree(t, dirs[0], dir)
			if err := errors.Join(os.RemoveAll(filepath.Join(dir, name)), os.Rename(filepath.Join(dirs[1], name), filepath.Join(dir, name))); err != nil {
				t.Fatal(err)
			}
			var damage *DamageError
			if _, err := Open(Options{Dir: dir, MemTable: minMemTable, Log: discardLog}); !errors.As(err, &damage) || unclear(err) != nil {
				t.Errorf("Open = %v, want a *DamageError", err)
			}
		})
	}
}

func TestLostIdentityFileIsRewritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, identityName)
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	if err := s.Bind([32]byte{7}); err != nil {
		t.Fatal(err)
	}
	set(t, s, "a", "1")
	closeStore(t, s)
	content := readFile(t, path)
	for at := range content {
		b := bytes.Clone(content)
		b[at] ^= 1
		for _, harmed := range [][]byte{b, content[:at], nil} {
			if id, ok := parseIdentity(harmed); ok {
				t.Fatalf("%q is %v", harmed, id)
			}
		}
	}
	for _, harm := range []func() error{
		func() error { return os.Remove(path) },
		func() error { return os.WriteFile(path, content[:20], 0o600) },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		closeStore(t, open(t, Options{Dir: dir, MemTable: minMemTable}))
		if rewritten := readFile(t, path); !bytes.Equal(rewritten, content) {
			t.Errorf("the file is %q, was %q", rewritten, content)
		}
	}
}

// If a process is killed after the first group and before it has written IDENTITY, this file lacks the identity. The next
// start completes the file.
func TestUnknownIdentityIsCompleted(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	set(t, s, "a", "1")
	hash := s.last.Hash
	closeStore(t, s)
	remove(t, filepath.Join(dir, identityName))
	s = open(t, Options{Dir: dir, MemTable: minMemTable})
	defer closeStore(t, s)
	if id, ok := parseIdentity(readFile(t, filepath.Join(dir, identityName))); !ok || id.first != hash || s.id.first != hash {
		t.Errorf("the identity is %x, want %x", id.first, hash)
	}
}

func TestStoreIsBoundToItsKeyring(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dir: dir, MemTable: minMemTable}
	s := open(t, o)
	for _, keyring := range [][32]byte{{1}, {2}} { // a store without groups may be tied to another keyring
		if err := s.Bind(keyring); err != nil {
			t.Errorf("Bind of an empty store = %v", err)
		}
	}
	set(t, s, "a", "1")
	closeStore(t, s)
	for _, lostFile := range []string{"", identityName} {
		if lostFile != "" {
			remove(t, filepath.Join(dir, lostFile))
		}
		s = open(t, o)
		if err := s.Bind([32]byte{2}); err != nil {
			t.Errorf("without %q: Bind to its own = %v", lostFile, err)
		}
		if err := s.Bind([32]byte{3}); !errors.Is(err, ErrOtherKeyring) {
			t.Errorf("without %q: Bind to another = %v, want ErrOtherKeyring", lostFile, err)
		}
		closeStore(t, s)
	}
}

// Open with MustExist makes no store and changes nothing in the directory.
func TestOpenWithExistingCreatesNoStore(t *testing.T) {
	dir := t.TempDir()
	closeStore(t, open(t, Options{Dir: dir, MemTable: minMemTable}))
	for _, f := range []string{storeName, logName, identityName, catalogName} {
		if err := os.RemoveAll(filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
	}
	filesBefore := listFiles(dir)
	for range 2 {
		if s, err := Open(Options{Dir: dir, MemTable: minMemTable, Log: discardLog, MustExist: true}); !errors.Is(err, ErrNoStore) || unclear(err) != nil {
			t.Fatalf("Open = %v, %v, want ErrNoStore", s, err)
		}
		if filesAfter := listFiles(dir); filesAfter != filesBefore {
			t.Errorf("the directory has %s, had %s", filesAfter, filesBefore)
		}
	}
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	set(t, s, "a", "1")
	closeStore(t, s)
	closeStore(t, open(t, Options{Dir: dir, MemTable: minMemTable, MustExist: true}))
}
