package store

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/testseed"
	"mizan/posting/store/recent"
)

// Each snapshot shows the rows as they were after its group, however many groups follow. By then the rows may be in memory, in a
// transaction that is being written to Badger, or in Badger.
func TestSnapshotsOutliveTheFlushOfTheirGroups(t *testing.T) {
	hist := history{seed: testseed.Seed(t), rows: 20, value: 200, keys: 60}
	random := rand.New(rand.NewPCG(hist.seed, 1))
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	snapshots, models := []*Snapshot{s.Snapshot()}, []model{{}}
	m := make(model)
	for n := uint64(1); n <= 60; n++ {
		hist.continueTo(t, s, n)
		hist.applyTo(m, n-1, n)
		if random.IntN(4) == 0 {
			if err := s.flushAll(); err != nil {
				t.Fatal(err)
			}
		}
		snapshots, models = append(snapshots, s.Snapshot()), append(models, maps.Clone(m))
	}
	for i, sn := range snapshots {
		got, err := content(sn)
		if err != nil || !maps.Equal(got, models[i]) {
			t.Errorf("the snapshot of group %d has %d rows, which differ from the %d expected ones: %v", i, len(got), len(models[i]), err)
		}
		for key, want := range models[i] {
			if value, found, err := sn.Get([]byte(key), nil); err != nil || !found || string(value) != want {
				t.Fatalf("the snapshot of group %d does not find %s: %v", i, key, err)
			}
		}
		sn.Close()
	}
	closeStore(t, s)
}

// If a recent group removes a row that Badger still has, readers do not see the row. If a later group sets the row again,
// they see it again.
func TestRecentGroupsHideWhatBadgerHas(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	set(t, s, "a", "1", "b", "1", "c", "1")
	if err := s.flushAll(); err != nil {
		t.Fatal(err)
	}
	g := NewGroup(next(s))
	g.Delete([]byte("a"))
	g.Delete([]byte("b"))
	g.Set([]byte("c"), []byte("2"))
	g.Seal()
	if err := s.Apply(g); err != nil {
		t.Fatal(err)
	}
	set(t, s, "b", "3")
	for _, where := range []string{"in memory", "in Badger"} {
		sn := s.Snapshot()
		got, err := content(sn)
		sn.Close()
		if want := (model{"b": "3", "c": "2"}); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: the store has %v, want %v: %v", where, got, want, err)
		}
		if err := s.flushAll(); err != nil {
			t.Fatal(err)
		}
	}
}

// If many groups set the same row, Badger gets only one version of it for each flush.
func TestFlushWritesTheNewestValueOnly(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	for n := range 100 {
		set(t, s, "counter", fmt.Sprint(n))
	}
	if err := s.flushAll(); err != nil {
		t.Fatal(err)
	}
	sn := s.Snapshot()
	defer sn.Close()
	if len(sn.recent) != 1 || sn.recent[0].Size().Rows != 0 {
		t.Fatal("not everything is in Badger")
	}
	rows := sn.badgerForward([]byte("counter"), 0)
	defer rows.Close()
	versions := 0
	for rows.Seek([]byte("counter")); rows.Valid(); rows.it.Next() {
		versions++
		if got, err := rows.Stored(); err != nil || string(got[:2]) != "99" {
			t.Errorf("Badger has %q: %v", got, err)
		}
	}
	if versions != 1 {
		t.Errorf("Badger has %d versions, want 1", versions)
	}
}

// A group of the maximum size (Store.MaxGroup) fits into the memory of recent groups.
func TestLargestGroupsFitIntoMemory(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	rows, bytes := s.MaxGroup()
	for name, fill := range map[string]func(g *Group){
		"most rows": func(g *Group) {
			for n := 0; g.Rows() < rows && g.size+10+checksumSize+rowOverhead <= bytes; n++ {
				g.Set(fmt.Appendf(nil, "k%09d", n), nil)
			}
		},
		"most bytes": func(g *Group) {
			for n := 0; g.size+10+4000+checksumSize+rowOverhead <= bytes; n++ {
				g.Set(fmt.Appendf(nil, "k%09d", n), make([]byte, 4000))
			}
		},
	} {
		for round := range 3 {
			g := NewGroup(next(s))
			fill(g)
			g.Seal()
			if err := s.Apply(g); err != nil {
				t.Fatalf("%s, round %d: %v", name, round, err)
			}
		}
	}
}

// A group that waits for room in memory does not wait for ever when the store fails.
func TestGroupThatWaitsForTheFlushEndsWithTheStore(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer s.Abandon()
	set(t, s, "a", "1")
	full := recent.New(recent.Size{Rows: 1, Bytes: 100}, recent.Size{Rows: 1, Bytes: 100})
	full.Add(version(1), recent.Size{Rows: 1, Bytes: 2}, slices.Values([]recent.Row{{Key: []byte("a"), Stored: []byte("1")}}))
	s.mu.Lock()
	s.full, s.recent = s.recent, full // s.full will never be written, and s.recent has no room for the group
	s.mu.Unlock()
	g := NewGroup(next(s))
	g.Set([]byte("b"), []byte("2"))
	g.Seal()
	applied := make(chan error)
	go func() { applied <- s.Apply(g) }()
	failure := errors.New("the disk is gone")
	s.fail(failure)
	if err := <-applied; !errors.Is(err, failure) {
		t.Errorf("Apply = %v, want %v", err, failure)
	}
	sn := s.Snapshot()
	defer sn.Close()
	if _, found, err := sn.Get([]byte("b"), nil); found || err != nil {
		t.Errorf("the refused group is visible: %v", err)
	}
}

// If a due row is removed while its group is still in memory, Badger gets neither the row nor a deletion. If Badger already has
// the row, it gets the deletion.
func TestDueRowRemovedInMemoryNeverReachesBadger(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	defer closeStore(t, s)
	var keys [][]byte
	for n := uint64(1); n <= 2; n++ { // row 1 is flushed to Badger before it is removed; row 2 is removed while it is in memory
		keys = append(keys, KeyDue(nil, 7, n))
		set(t, s, string(keys[n-1]), "due")
		if n == 1 {
			if err := s.flushAll(); err != nil {
				t.Fatal(err)
			}
		}
	}
	g := NewGroup(next(s))
	for _, key := range keys {
		g.Delete(key)
	}
	g.Seal()
	if err := s.Apply(g); err != nil {
		t.Fatal(err)
	}
	if err := s.flushAll(); err != nil {
		t.Fatal(err)
	}
	txn := s.db.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	it := txn.NewIterator(badger.IteratorOptions{AllVersions: true, Prefix: KeyDues(nil)})
	defer it.Close()
	var versions []string
	for it.Seek(nil); it.Valid(); it.Next() {
		versions = append(versions, fmt.Sprintf("%x deleted %v", it.Item().Key(), it.Item().IsDeletedOrExpired()))
	}
	want := []string{fmt.Sprintf("%x deleted true", keys[0]), fmt.Sprintf("%x deleted false", keys[0])}
	if !slices.Equal(versions, want) {
		t.Errorf("Badger has %v, want %v", versions, want)
	}
	sn := s.Snapshot()
	defer sn.Close()
	for _, key := range keys {
		if _, found, err := sn.Get(key, nil); found || err != nil {
			t.Errorf("%x is found: %v %v", key, found, err)
		}
	}
}
