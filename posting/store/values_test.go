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

// Files with values that rows do not need any more are removed, and no row changes, also not for a snapshot that is older.
func TestReplacedValuesAreCollected(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(seed(t), 0))
	s := open(t, Options{Dir: dir, MemTable: minMemTable})
	for i := range 200 { // a lasting row in the first group, so that both kinds have files
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
		return len(s.keeper.removals) > 0
	}
	rewrite(t, s, r, isCollected)
	rowsNow, err := content(before)
	if err != nil || !equalModels(rowsBefore, rowsNow) {
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
	if got, err := content(sn); err != nil || !equalModels(got, m) {
		t.Errorf("the rows differ after another opening: %v", err)
	}
}

// A move of values is the last thing that Badger has when the store is closed: all values are found afterwards, also when further groups follow.
func TestMovedValuesAreFoundAfterAnotherOpening(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(seed(t), 0))
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
		isMoved = len(s.keeper.removals) > 0
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

func equalModels(a, b model) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// A running store notices damage in values that nobody reads.
func TestDamagedValueEndsTheStore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	for i := range 100 {
		set(t, s, fmt.Sprintf("r%03d", i), strings.Repeat("v", 1000))
	}
	path := s.values.Path(1)
	closeStore(t, s)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = Open(Options{Dir: dir, Log: discardLog})
	if err != nil {
		t.Fatal(err)
	}
	<-s.Failed()
	if err := s.Failure(); !isDamage(err) || !strings.Contains(err.Error(), path) {
		t.Errorf("the failure is %v", err)
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
	for s.Unverified() > 0 {
		runtime.Gosched()
	}
	if s.Unverified() < 0 || s.Failure() != nil {
		t.Errorf("%d bytes are unverified: %v", s.Unverified(), s.Failure())
	}
}
