package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// discardLog is a log that discards everything.
var discardLog = slog.New(slog.DiscardHandler)

// model is the expected content of a store.
type model map[string]string

// history computes the rows of each group of a test's store from the seed. So a test need not record which content it expects
// after a group.
type history struct {
	seed  uint64
	rows  int // number of random rows in a group
	value int // upper bound of the length of a value
	keys  int // number of different keys; it is small enough that rows are overwritten and deleted
}

// eachRow calls set or remove for every row of group n.
func (h history) eachRow(n uint64, set func(key, value []byte), remove func(key []byte)) {
	r := rand.New(rand.NewPCG(h.seed, n))
	for range h.rows {
		kind := "kr"[r.IntN(2)] // long values of the kind 'r' are stored in files of values
		key := fmt.Appendf(nil, "%c%04d", kind, r.IntN(h.keys))
		if r.IntN(4) == 0 {
			remove(key)
			continue
		}
		value := make([]byte, r.IntN(h.value))
		for i := range value {
			value[i] = byte(r.Uint32())
		}
		set(key, value)
	}
	// Some rows of each group are never overwritten, like most rows of the journal.
	set(fmt.Appendf(nil, "p%08d", n), fmt.Appendf(nil, "of group %d", n))
	set(fmt.Appendf(nil, "b%08d", n), fmt.Appendf(nil, "of group %0*d", minSeparated, n))
}

// fill writes group n into g.
func (h history) fill(g *Group) { h.eachRow(g.N(), g.Set, g.Delete) }

// applyTo changes the model as the history's groups from+1 to last do.
func (h history) applyTo(m model, from, last uint64) {
	for n := from + 1; n <= last; n++ {
		h.eachRow(n, func(k, v []byte) { m[string(k)] = string(v) }, func(k []byte) { delete(m, string(k)) })
	}
}

// continueTo applies to the store the groups after its last one, up to group n.
func (h history) continueTo(t testing.TB, s *Store, n uint64) {
	t.Helper()
	last, hash := s.LastGroup()
	g := new(Group)
	for last++; last <= n; last++ {
		g.Reset(last, hash)
		h.fill(g)
		hash = g.Seal()
		if err := s.Apply(g); err != nil {
			t.Fatal(err)
		}
	}
}

// content returns all rows except the store's own. It checks that reading in both directions gives the same rows.
func content(sn *Snapshot) (model, error) {
	m := make(model)
	var ascending, descending []string
	err := sn.Ascend(nil, nil, func(k, v []byte) (bool, error) {
		if !isStoreRow(k) {
			m[string(k)] = string(v)
			ascending = append(ascending, string(k))
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	err = sn.Descend(nil, nil, func(k, v []byte) (bool, error) {
		if !isStoreRow(k) {
			descending = append(descending, string(k))
			if m[string(k)] != string(v) {
				return false, fmt.Errorf("%q differs by direction", k)
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(descending)
	if !slices.IsSorted(ascending) || !slices.Equal(ascending, descending) {
		return nil, fmt.Errorf("the directions disagree: %d and %d rows", len(ascending), len(descending))
	}
	return m, nil
}

// differenceFrom returns an error that says how the store differs from the model, in a walk over all rows or in Get for some
// keys. If they are equal, it returns nil.
func (h history) differenceFrom(s *Store, m model) error {
	sn := s.Snapshot()
	defer sn.Close()
	got, err := content(sn)
	if err != nil {
		return err
	}
	if !maps.Equal(got, m) {
		return fmt.Errorf("at group %d the store has %d rows, which differ from the %d expected ones", sn.GroupNumber(), len(got), len(m))
	}
	r := rand.New(rand.NewPCG(h.seed, sn.GroupNumber()))
	for range 500 {
		kind := "kr"[r.IntN(2)] // as in eachRow
		key := fmt.Appendf(nil, "%c%04d", kind, r.IntN(h.keys))
		value, found, err := sn.Get(key, nil)
		if err != nil {
			return err
		}
		want, isExpected := m[string(key)]
		if found != isExpected || string(value) != want {
			return fmt.Errorf("Get(%s) is wrong", key)
		}
	}
	return nil
}

// open opens a store for a test.
func open(t testing.TB, o Options) *Store {
	t.Helper()
	o.Log = discardLog
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// waitForReleases waits until the store's background work has ended. The goroutine that writes groups to Badger begins such
// work, so it must be idle first. Nothing may be applied meanwhile.
func waitForReleases(s *Store) {
	s.mu.Lock()
	_ = s.waitFlushed() // an error means that the store has failed, and then nothing is begun
	s.mu.Unlock()
	s.releases.Wait()
}

// abandonStore releases the files of a store that has failed. Outside of tests the end of the process releases them.
func abandonStore(t testing.TB, s *Store) {
	t.Helper()
	waitForReleases(s) // this background work reads tables, which Badger is about to unmap
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	s.tables.Wait()
	for _, f := range []interface{ Close() error }{s.groups, s.lock, s.audit} {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// withoutPrepared returns nil if err only says that the file of the log's next segment does not exist. An open store renames
// this file when it is complete, perhaps just after the test has listed the directory. The file has no frames yet, so a kill
// may also leave a directory without it.
func withoutPrepared(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) && strings.HasPrefix(filepath.Base(path), "new-") {
		return nil
	}
	return err
}

// copyTree copies a directory. The zeros at the end of a file take no space in the copy, as in Badger's logs.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return withoutPrepared(path, err)
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return withoutPrepared(path, err)
		}
		target := filepath.Join(to, name)
		if err := os.WriteFile(target, bytes.TrimRight(b, "\x00"), 0o600); err != nil {
			return err
		}
		return os.Truncate(target, int64(len(b)))
	})
	if err != nil {
		t.Fatal(err)
	}
}
