package store

import (
	"bytes"
	"testing"
)

// groupHash returns the hash of a group with these rows, given as pairs of key and value. The value "-" means
// a deletion.
func groupHash(n uint64, previous [32]byte, rows ...string) [32]byte {
	g := NewGroup(n, previous)
	for i := 0; i < len(rows); i += 2 {
		if rows[i+1] == "-" {
			g.Delete([]byte(rows[i]))
		} else {
			g.Set([]byte(rows[i]), []byte(rows[i+1]))
		}
	}
	return g.Seal()
}

func TestGroupHashCoversEverythingInIt(t *testing.T) {
	base := groupHash(2, [32]byte{1}, "a", "1", "b", "2")
	if again := groupHash(2, [32]byte{1}, "a", "1", "b", "2"); again != base {
		t.Error("equal groups have different hashes")
	}
	for name, other := range map[string][32]byte{
		"the number":          groupHash(3, [32]byte{1}, "a", "1", "b", "2"),
		"the previous hash":   groupHash(2, [32]byte{2}, "a", "1", "b", "2"),
		"the order":           groupHash(2, [32]byte{1}, "b", "2", "a", "1"),
		"a key":               groupHash(2, [32]byte{1}, "c", "1", "b", "2"),
		"a value":             groupHash(2, [32]byte{1}, "a", "3", "b", "2"),
		"a deletion":          groupHash(2, [32]byte{1}, "a", "-", "b", "2"),
		"a row more":          groupHash(2, [32]byte{1}, "a", "1", "b", "2", "c", "3"),
		"a row less":          groupHash(2, [32]byte{1}, "a", "1"),
		"where a key ends":    groupHash(2, [32]byte{1}, "a1", "", "b", "2"),
		"where a value ends":  groupHash(2, [32]byte{1}, "a", "1b", "2", ""),
		"a deletion's length": groupHash(2, [32]byte{1}, "a1b2", "-"),
	} {
		if other == base {
			t.Errorf("the hash does not cover %s", name)
		}
	}
}

func TestResetGroupEqualsANewGroup(t *testing.T) {
	want := groupHash(2, [32]byte{1}, "a", "1")
	g := NewGroup(1, [32]byte{})
	g.Set([]byte("x"), bytes.Repeat([]byte("x"), 1000))
	g.Delete([]byte("y"))
	g.Seal()
	g.Reset(2, [32]byte{1})
	if g.Rows() != 0 || g.Bytes() != 0 || g.N() != 2 || g.Previous() != [32]byte{1} {
		t.Errorf("after Reset: %d rows, %d bytes, group %d", g.Rows(), g.Bytes(), g.N())
	}
	g.Set([]byte("a"), []byte("1"))
	if g.Seal() != want || g.Rows() != 1 || g.Bytes() != 1+1+checksumSize+rowOverhead {
		t.Errorf("after Reset and Set: %d rows, %d bytes, or another hash", g.Rows(), g.Bytes())
	}
}

func TestGroupCopiesItsInput(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	defer closeStore(t, s)
	key, value := []byte("a"), []byte("1")
	g := NewGroup(next(s))
	g.Set(key, value)
	key[0], value[0] = 'b', '2'
	g.Set(key, value)
	key[0], value[0] = 'c', '3'
	g.Seal()
	if err := s.Apply(g); err != nil {
		t.Fatal(err)
	}
	sn := s.Snapshot()
	defer sn.Close()
	if a, b, c := get(t, sn, "a"), get(t, sn, "b"), get(t, sn, "c"); a != "1" || b != "2" || c != "-" {
		t.Errorf("a, b, c = %s, %s, %s", a, b, c)
	}
}

func TestLaterRowWithTheSameKeyWins(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	defer closeStore(t, s)
	g := NewGroup(next(s))
	g.Set([]byte("a"), []byte("1"))
	g.Set([]byte("a"), []byte("2"))
	g.Set([]byte("b"), []byte("1"))
	g.Delete([]byte("b"))
	g.Delete([]byte("c"))
	g.Set([]byte("c"), []byte("1"))
	g.Seal()
	if err := s.Apply(g); err != nil {
		t.Fatal(err)
	}
	sn := s.Snapshot()
	defer sn.Close()
	if a, b, c := get(t, sn, "a"), get(t, sn, "b"), get(t, sn, "c"); a != "2" || b != "-" || c != "1" {
		t.Errorf("a, b, c = %s, %s, %s", a, b, c)
	}
}

func TestMisuseOfAGroupPanics(t *testing.T) {
	for name, misuse := range map[string]func(g *Group){
		"group 0":              func(g *Group) { g.Reset(0, [32]byte{}) },
		"no key":               func(g *Group) { g.Set(nil, nil) },
		"a long key":           func(g *Group) { g.Set(make([]byte, MaxKey+1), nil) },
		"a long value":         func(g *Group) { g.Set([]byte("a"), make([]byte, MaxValue+1)) },
		"a group row":          func(g *Group) { g.Set([]byte("g1"), nil) },
		"the schema":           func(g *Group) { g.Set([]byte(schemaKey), nil) },
		"Badger's own prefix":  func(g *Group) { g.Delete([]byte("!badger!")) },
		"a row after the seal": func(g *Group) { g.Seal(); g.Set([]byte("a"), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it was accepted")
				}
			}()
			misuse(NewGroup(1, [32]byte{}))
		})
	}
}

func TestChecksumCoversTheKey(t *testing.T) {
	stored := appendChecksum([]byte("a"), []byte("value"))
	if v, ok := withoutChecksum([]byte("a"), stored); !ok || string(v) != "value" {
		t.Errorf("withoutChecksum = %q, %v", v, ok)
	}
	if _, ok := withoutChecksum([]byte("b"), stored); ok {
		t.Error("it opens under another key")
	}
	for i := range stored {
		for bit := range 8 {
			stored[i] ^= 1 << bit
			if _, ok := withoutChecksum([]byte("a"), stored); ok {
				t.Errorf("it opens with bit %d of byte %d flipped", bit, i)
			}
			stored[i] ^= 1 << bit
		}
	}
	for n := range len(stored) {
		if _, ok := withoutChecksum([]byte("a"), stored[:n]); ok {
			t.Errorf("it opens when cut to %d bytes", n)
		}
	}
}
