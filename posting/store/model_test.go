package store

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// discardLog is a log that discards everything.
var discardLog = slog.New(slog.DiscardHandler)

// seed returns a random seed and logs it, so that a failure can be repeated with MIZAN_SEED.
func seed(t testing.TB) uint64 {
	t.Helper()
	s := rand.Uint64()
	if text := os.Getenv("MIZAN_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &s); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("MIZAN_SEED=%d", s)
	return s
}

// model is the expected content of a store.
type model map[string]string

// history gives the content of each group of a store as a function of the seed. So the expected content after
// any group need not be recorded.
type history struct {
	seed  uint64
	rows  int // number of random rows in a group
	value int // upper bound of a value's length
	keys  int // number of keys, so that rows are overwritten and deleted
}

// group calls set or del for every row of group n.
func (s history) group(n uint64, set func(key, value []byte), del func(key []byte)) {
	r := rand.New(rand.NewPCG(s.seed, n))
	for range s.rows {
		key := fmt.Appendf(nil, "k%04d", r.IntN(s.keys))
		if r.IntN(4) == 0 {
			del(key)
			continue
		}
		value := make([]byte, r.IntN(s.value))
		for i := range value {
			value[i] = byte(r.Uint32())
		}
		set(key, value)
	}
	// One row of each group is never overwritten, like most rows of the journal.
	set(fmt.Appendf(nil, "p%08d", n), fmt.Appendf(nil, "of group %d", n))
}

// fill writes group n into g.
func (s history) fill(g *Group) { s.group(g.N(), g.Set, g.Delete) }

// applyTo applies the groups after from, up to the group to, to the model.
func (s history) applyTo(m model, from, to uint64) {
	for n := from + 1; n <= to; n++ {
		s.group(n, func(k, v []byte) { m[string(k)] = string(v) }, func(k []byte) { delete(m, string(k)) })
	}
}

// continueTo applies the groups after the store's last one, up to group n, to the store.
func (s history) continueTo(t testing.TB, st *Store, n uint64) {
	t.Helper()
	last, hash := st.LastGroup()
	g := new(Group)
	for last++; last <= n; last++ {
		g.Reset(last, hash)
		s.fill(g)
		hash = g.Seal()
		if err := st.Apply(g); err != nil {
			t.Fatal(err)
		}
	}
}

// content returns all rows except the store's own, and checks that reading in both directions gives the same.
func content(sn *Snapshot) (model, error) {
	m := make(model)
	var up, down []string
	err := sn.Ascend(nil, nil, func(k, v []byte) (bool, error) {
		if k[0] != prefixGroup && string(k) != schemaKey {
			m[string(k)] = string(v)
			up = append(up, string(k))
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	err = sn.Descend(nil, nil, func(k, v []byte) (bool, error) {
		if k[0] != prefixGroup && string(k) != schemaKey {
			down = append(down, string(k))
			if m[string(k)] != string(v) {
				return false, fmt.Errorf("%q differs by direction", k)
			}
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(down)
	if !slices.IsSorted(up) || !slices.Equal(up, down) {
		return nil, fmt.Errorf("the directions disagree: %d and %d rows", len(up), len(down))
	}
	return m, nil
}

// differenceFrom returns how the store differs from the model, in a walk over all rows or in Get for some
// keys; nil: it does not.
func (s history) differenceFrom(st *Store, m model) error {
	sn := st.Snapshot()
	defer sn.Close()
	got, err := content(sn)
	if err != nil {
		return err
	}
	if !maps.Equal(got, m) {
		return fmt.Errorf("at group %d the store has %d rows, and they should be %d others", sn.Group(), len(got), len(m))
	}
	r := rand.New(rand.NewPCG(s.seed, sn.Group()))
	for range 500 {
		key := fmt.Appendf(nil, "k%04d", r.IntN(s.keys))
		value, found, err := sn.Get(key, nil)
		if err != nil {
			return err
		}
		want, has := m[string(key)]
		if found != has || string(value) != want {
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

// abandonStore releases a store that has failed, as otherwise only the end of the process would.
func abandonStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	s.tables.Wait()
	for _, f := range []interface{ Close() error }{s.head.f, s.lock, s.audit} {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// copyTree copies a directory, keeping the holes of Badger's logs.
func copyTree(t testing.TB, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
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
			return err
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
