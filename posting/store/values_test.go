package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mizan/internal/testseed"
	"mizan/posting/store/values"
)

// valueFiles returns the names of the files with values.
func valueFiles(t testing.TB, s *Store) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.path, valuesName, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range paths {
		paths[i] = filepath.Base(p)
	}
	return paths
}

// storedInBadger returns how many bytes the row has in Badger.
func storedInBadger(t *testing.T, s *Store, key string) (n int) {
	t.Helper()
	txn := s.db.NewTransactionAt(version(s.last.N), false)
	defer txn.Discard()
	item, err := txn.Get([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	if err := item.Value(func(b []byte) error { n = len(b); return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestLongValuesAreInFilesOfTheirOwn(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	defer closeStore(t, s)
	long, short := strings.Repeat("v", minSeparated), strings.Repeat("v", minSeparated-checksumSize-1)
	for _, kind := range "bplrtq" {
		set(t, s, string(kind)+"long", long, string(kind)+"short", short)
	}
	for _, kind := range "cdkmnswxy" {
		set(t, s, string(kind)+"long", long)
	}
	if err := s.flushAll(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range "bplrtq" {
		if n := storedInBadger(t, s, string(kind)+"long"); n != values.PlaceSize {
			t.Errorf("a long row of kind %q has %d bytes in Badger", kind, n)
		}
		if n := storedInBadger(t, s, string(kind)+"short"); n != len(short)+checksumSize {
			t.Errorf("a short row of kind %q has %d bytes in Badger", kind, n)
		}
	}
	for _, kind := range "cdkmnswxy" {
		if n := storedInBadger(t, s, string(kind)+"long"); n != len(long)+checksumSize {
			t.Errorf("a row of kind %q has %d bytes in Badger", kind, n)
		}
	}
	sn := s.Snapshot()
	defer sn.Close()
	for _, kind := range "bplrtqcdkmnswxy" {
		if got := get(t, sn, string(kind)+"long"); got != long {
			t.Errorf("the row of kind %q is %q", kind, got)
		}
	}
}

// rewrite sets the same rows again and again, with values of about 1 KB, until stop returns true. It returns the rows.
func rewrite(t *testing.T, s *Store, r *rand.Rand, stop func() bool) model {
	t.Helper()
	m := make(model)
	last, hash := s.LastGroup()
	g := new(Group)
	for !stop() {
		last++
		g.Reset(last, hash)
		for range 50 {
			key := fmt.Sprintf("r%03d", r.IntN(1000))
			value := bytes.Repeat([]byte{byte(r.Uint32())}, 500+r.IntN(1000))
			g.Set([]byte(key), value)
			m[key] = string(value)
		}
		hash = g.Seal()
		if err := s.Apply(g); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// Files with values that no row needs any more are removed. No row changes, not even for a snapshot that was opened before.
func TestReplacedValuesAreCollected(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(testseed.Seed(t), 0))
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	for i := range 200 { // rows with lasting values, so that there are files of both kinds
		set(t, s, fmt.Sprintf("b%03d", i), strings.Repeat("b", 200))
	}
	first := func() string { // the first file of replaceable values
		for _, f := range s.values.Files() {
			if f.Kind == values.Replaceable {
				return filepath.Base(s.values.Path(f.Number))
			}
		}
		return ""
	}
	rewrite(t, s, r, func() bool { return first() != "" })
	oldest := first()
	before := s.Snapshot()
	rowsBefore, err := content(before)
	if err != nil {
		t.Fatal(err)
	}
	isCollected := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.maintenance.removals) > 0
	}
	rewrite(t, s, r, isCollected)
	rowsNow, err := content(before)
	if err != nil || !equalModel(rowsBefore, rowsNow) {
		t.Fatalf("an older snapshot has changed: %v", err)
	}
	if !slices.Contains(valueFiles(t, s), oldest) {
		t.Error("a file went while a snapshot reads it")
	}
	before.Close()
	m := rewrite(t, s, r, func() bool { return !slices.Contains(valueFiles(t, s), oldest) })
	func() {
		sn := s.Snapshot()
		defer sn.Close()
		got, err := content(sn)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range m {
			if got[k] != v {
				t.Fatalf("the row %s has a value of %d bytes, want %d", k, len(got[k]), len(v))
			}
		}
		m = got
	}()
	closeStore(t, s)
	s = open(t, Options{Dir: dir, MemTable: minMemTable})
	defer closeStore(t, s)
	sn := s.Snapshot()
	defer sn.Close()
	if got, err := content(sn); err != nil || !equalModel(got, m) {
		t.Errorf("the rows differ after another opening: %v", err)
	}
}

// The last transaction before the store is closed moves values. When the store is opened again, all values are found, also
// after further groups.
func TestMovedValuesAreFoundAfterAnotherOpening(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(testseed.Seed(t), 0))
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	kept := make(model)
	for i := range 500 {
		key := fmt.Sprintf("rkept%03d", i)
		kept[key] = strings.Repeat("k", 900+i)
		set(t, s, key, kept[key])
	}
	isFull := func() bool {
		return slices.ContainsFunc(s.values.Files(), func(f values.File) bool { return f.Kind == values.Replaceable && s.values.IsFull(f) })
	}
	rewrite(t, s, r, isFull)
	if err := s.flushAll(); err != nil {
		t.Fatal(err)
	}
	for isMoved := false; !isMoved; {
		s.collectSoon()
		runtime.Gosched()
		s.mu.Lock()
		isMoved = len(s.maintenance.removals) > 0
		s.mu.Unlock()
	}
	closeStore(t, s)
	for range 3 {
		s = open(t, Options{Dir: dir, MemTable: minMemTable})
		set(t, s, "rother", strings.Repeat("x", 300))
		if err := s.flushAll(); err != nil {
			t.Fatal(err)
		}
		sn := s.Snapshot()
		for key, value := range kept {
			if got := get(t, sn, key); got != value {
				t.Fatalf("the row %s has %d bytes", key, len(got))
			}
		}
		sn.Close()
		closeStore(t, s)
	}
}

// A running store detects damage to values that rows need, even if no query reads them. Damage to a replaced value is
// harmless. So is damage to the lengths and the key before a replaced value, which tell where the next value begins.
func TestDamagedValueEndsTheStoreIfARowNeedsIt(t *testing.T) {
	for name, c := range map[string]struct {
		kind       string // first letter of the rows' keys
		near       string // a text whose last occurrence in the file is sought
		offset     int    // of the changed byte, from the beginning of the text
		isHarmless bool
	}{
		"value":                              {"r", "second 042", 9, false},
		"key":                                {"r", "r042", 3, false},
		"length of the key":                  {"r", "r042", -5, false},
		"length of the value":                {"r", "r042", -1, false},
		"great length of the value":          {"r", "r042", -4, false},
		"lasting value":                      {"b", "second 042", 9, false},
		"lasting key":                        {"b", "b042", 3, false},
		"replaced value":                     {"r", "first 042", 8, true},
		"key of a replaced value":            {"r", "first 042", -5, true},
		"length of a replaced value":         {"r", "first 042", -9, true},
		"great length of a replaced value":   {"r", "first 042", -12, true},
		"length of a replaced value's key":   {"r", "first 042", -13, true},
		"length before the first new value":  {"r", "first 099", -9, true},
		"replaced lasting value":             {"b", "first 042", 8, true}, // a ledger never replaces such rows, but this test does
		"length of a replaced lasting value": {"b", "first 042", -9, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, Options{Dir: dir, MemTable: minMemTable})
			for _, text := range []string{"first", "second"} {
				for i := range 100 {
					set(t, s, fmt.Sprintf("%s%03d", c.kind, i), fmt.Sprintf("%s %03d %0900d", text, i, i))
				}
				if err := s.flushAll(); err != nil {
					t.Fatal(err)
				}
			}
			path := s.values.Path(1)
			closeStore(t, s)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.LastIndex(b, []byte(c.near))
			if at < 0 {
				t.Fatalf("%q is not in the file", c.near)
			}
			b[at+c.offset] ^= 1
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if !c.isHarmless {
				openDamaged(t, Options{Dir: dir, MemTable: minMemTable, Log: discardLog}, path)
				return
			}
			s = open(t, Options{Dir: dir, MemTable: minMemTable})
			verified(t, s)
			closeStore(t, s)
		})
	}
}

// Damage in the padding of the last block of a flush is harmless.
func TestDamageBetweenTwoFlushesIsHarmless(t *testing.T) {
	for back := range 40 {
		dir := t.TempDir()
		s := open(t, Options{Dir: dir, MemTable: minMemTable})
		for _, text := range []string{"first", "second"} {
			set(t, s, "b"+text, text+strings.Repeat(" ", 4000))
			if err := s.flushAll(); err != nil {
				t.Fatal(err)
			}
		}
		path := s.values.Path(1)
		closeStore(t, s)
		b := readFile(t, path)
		if len(b) != 2*4096 {
			t.Fatalf("the file has %d bytes", len(b))
		}
		b[4095-back] ^= 4
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s = open(t, Options{Dir: dir, MemTable: minMemTable})
		verified(t, s)
		closeStore(t, s)
	}
}

// verified waits until all values are compared with their checksums.
func verified(t *testing.T, s *Store) {
	t.Helper()
	for s.UnverifiedBytes() > 0 && s.Failure() == nil {
		runtime.Gosched()
	}
	if s.UnverifiedBytes() != 0 || s.Failure() != nil {
		t.Errorf("%d bytes are unverified: %v", s.UnverifiedBytes(), s.Failure())
	}
}

func TestValuesAreVerifiedOnceAfterAStart(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	for i := range 100 {
		set(t, s, fmt.Sprintf("r%03d", i), strings.Repeat("v", 1000))
	}
	closeStore(t, s)
	s = open(t, Options{Dir: dir})
	defer closeStore(t, s)
	verified(t, s)
}

// After a crash, files of values are written again at the same places. If the disk loses such a write, or if somebody puts back a
// copy of the file from before the crash, the old content must not be taken for the new content.
func TestOlderCopyOfAFileOfValuesIsDamage(t *testing.T) {
	dir, killed := t.TempDir(), t.TempDir()
	write := func(s *Store, text string) {
		for i := range 40 {
			set(t, s, fmt.Sprintf("r%03d", i), strings.Repeat(text, 1000))
		}
		if err := s.flushAll(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	write(s, "A")
	copyTree(t, dir, killed) // what a kill leaves: no table has the places of these values
	older := readFile(t, s.values.Path(1))
	closeStore(t, s)

	s = open(t, Options{Dir: killed, MemTable: minMemTable})
	path := s.values.Path(1)
	write(s, "B")
	closeStore(t, s)
	if newer := readFile(t, path); len(newer) != len(older) || bytes.Equal(newer, older) {
		t.Fatalf("the file has %d bytes, and had %d", len(newer), len(older))
	}
	if err := os.WriteFile(path, older, 0o600); err != nil {
		t.Fatal(err)
	}
	openDamaged(t, Options{Dir: killed, MemTable: minMemTable, Log: discardLog}, path)
}

// openDamaged opens a store with damage in a file of values, and checks that the damage is found. If the background work has
// already found it, Open itself returns the error.
func openDamaged(t *testing.T, o Options, path string) {
	t.Helper()
	s, err := Open(o)
	if err == nil {
		for s.UnverifiedBytes() > 0 && s.Failure() == nil {
			runtime.Gosched()
		}
		err = s.Failure()
		settle(s)
	}
	if !isDamage(err) || !strings.Contains(err.Error(), path) {
		t.Errorf("the failure is %v", err)
	}
}
