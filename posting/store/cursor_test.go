package store

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"mizan/internal/testseed"
	"slices"
	"strings"
	"testing"
	"time"
)

// alphabet has the bytes of random keys: ordinary ones, and some that are special cases at the end of a prefix.
var alphabet = []byte{0x00, 'a', 'b', 0xfe, 0xff}

// randomKey returns a key of at most longest bytes that is not one of the store's own keys.
func randomKey(r *rand.Rand, longest int) []byte {
	key := []byte{"ab\xfe\xff"[r.IntN(4)]}
	for range r.IntN(longest) {
		key = append(key, alphabet[r.IntN(len(alphabet))])
	}
	return key
}

// keysUnder returns the model's keys that begin with prefix, sorted.
func (m model) keysUnder(prefix []byte) []string {
	keys := slices.Sorted(maps.Keys(m))
	return slices.DeleteFunc(keys, func(k string) bool { return !strings.HasPrefix(k, string(prefix)) })
}

// storeWithVersions returns a store in which most keys have several versions, in memtables, in level 0 and
// below it.
func storeWithVersions(t *testing.T, r *rand.Rand) (*Store, model) {
	s := open(t, Options{Dir: t.TempDir(), MemTable: minMemTable})
	m := make(model)
	g := new(Group)
	for round := range 300 {
		g.Reset(next(s))
		for range 30 {
			key := randomKey(r, 4)
			if r.IntN(3) == 0 {
				g.Delete(key)
				delete(m, string(key))
				continue
			}
			value := fmt.Sprintf("%d %s", round, strings.Repeat("x", r.IntN(1000)))
			g.Set(key, []byte(value))
			m[string(key)] = value
		}
		g.Seal()
		if err := s.Apply(g); err != nil {
			t.Fatal(err)
		}
	}
	return s, m
}

func TestCursorsAgreeWithASortedMap(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Seed(t), 1))
	s, m := storeWithVersions(t, r)
	defer closeStore(t, s)
	sn := s.Snapshot()
	defer sn.Close()
	walks := 3000
	if testing.Short() {
		walks = 300 // a walk uses only one goroutine, so more of them give the race detector nothing more to find
	}
	for range walks {
		prefix := randomKey(r, 3)
		if r.IntN(20) == 0 {
			prefix = nil
		}
		from := [][]byte{nil, prefix, randomKey(r, 5), append(bytes.Clone(prefix), randomKey(r, 3)...)}[r.IntN(4)]
		lastRow := r.IntN(10) // index of the row after which the callbacks end the iteration
		checkAscend(t, sn, m, prefix, from, lastRow)
		checkDescend(t, sn, m, prefix, from, lastRow)
		checkLast(t, sn, m, prefix, from)
	}
}

func checkAscend(t *testing.T, sn *Snapshot, m model, prefix, from []byte, lastRow int) {
	t.Helper()
	want := slices.DeleteFunc(m.keysUnder(prefix), func(k string) bool { return from != nil && k < string(from) })
	want = want[:min(len(want), lastRow+1)]
	var got []string
	err := sn.Ascend(prefix, from, func(k, v []byte) (bool, error) {
		if isStoreRow(k) {
			return true, nil
		}
		if m[string(k)] != string(v) {
			t.Errorf("Ascend: the value of %q", k)
		}
		got = append(got, string(k))
		return len(got) <= lastRow, nil
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Ascend(%q, %q) = %q, %v, want %q", prefix, from, got, err, want)
	}
	got = nil
	err = sn.AscendKeys(prefix, from, func(k []byte) ([]byte, bool, error) {
		if isStoreRow(k) {
			return nil, true, nil
		}
		got = append(got, string(k))
		return nil, len(got) <= lastRow, nil
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("AscendKeys(%q, %q) = %q, %v, want %q", prefix, from, got, err, want)
	}
}

// isStoreRow tells whether a key is one of the store's own rows.
func isStoreRow(k []byte) bool {
	return k[0] == prefixGroup || k[0] == prefixValues || string(k) == schemaKey
}

func checkDescend(t *testing.T, sn *Snapshot, m model, prefix, from []byte, lastRow int) {
	t.Helper()
	want := slices.DeleteFunc(m.keysUnder(prefix), func(k string) bool { return from != nil && k > string(from) })
	slices.Reverse(want)
	want = want[:min(len(want), lastRow+1)]
	var got []string
	err := sn.Descend(prefix, from, func(k, v []byte) (bool, error) {
		if isStoreRow(k) {
			return true, nil
		}
		if m[string(k)] != string(v) {
			t.Errorf("Descend: the value of %q", k)
		}
		got = append(got, string(k))
		return len(got) <= lastRow, nil
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Descend(%q, %q) = %q, %v, want %q", prefix, from, got, err, want)
	}
}

func checkLast(t *testing.T, sn *Snapshot, m model, prefix, upTo []byte) {
	t.Helper()
	if len(prefix) == 0 {
		return // the greatest key could be one of the store's own rows
	}
	want := slices.DeleteFunc(m.keysUnder(prefix), func(k string) bool { return upTo != nil && k > string(upTo) })
	key, value, found, err := sn.Last(prefix, upTo)
	if err != nil || found != (len(want) > 0) {
		t.Fatalf("Last(%q, %q) = %q, %v, %v, want one of %q", prefix, upTo, key, found, err, want)
	}
	if found && (string(key) != want[len(want)-1] || string(value) != m[string(key)]) {
		t.Errorf("Last(%q, %q) = %q, want %q", prefix, upTo, key, want[len(want)-1])
	}
}

func TestAscentContinuesAtTheFirstKeyNotBelowSkipTo(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	defer closeStore(t, s)
	set(t, s, "aa1", "", "aa2", "", "ab1", "", "ab2", "", "ad1", "", "b", "")
	sn := s.Snapshot()
	defer sn.Close()
	var got []string
	err := sn.AscendKeys([]byte("a"), nil, func(key []byte) ([]byte, bool, error) {
		got = append(got, string(key))
		return []byte{key[0], key[1] + 1}, true, nil // the next key whose second letter is another one
	})
	if want := []string{"aa1", "ab1", "ad1"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("AscendKeys = %q, %v, want %q", got, err, want)
	}
}

func TestCallbackErrorIsReturned(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	defer closeStore(t, s)
	set(t, s, "a", "1")
	sn := s.Snapshot()
	defer sn.Close()
	stop := errors.New("stop")
	for name, err := range map[string]error{
		"Ascend":     sn.Ascend(nil, nil, func(_, _ []byte) (bool, error) { return true, stop }),
		"Descend":    sn.Descend(nil, nil, func(_, _ []byte) (bool, error) { return true, stop }),
		"AscendKeys": sn.AscendKeys(nil, nil, func([]byte) ([]byte, bool, error) { return nil, true, stop }),
	} {
		if !errors.Is(err, stop) {
			t.Errorf("%s = %v", name, err)
		}
	}
}

// Until compaction, a row that every group overwrites has one version for each group. The neighbouring rows
// must still be found in both directions.
func TestManyVersionsOfOneKeyAreReadAsOneRow(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	defer closeStore(t, s)
	set(t, s, "a", "first", "\x00", "low", "n", "0", "n\x00", "after")
	for i := range 100 {
		set(t, s, "n", fmt.Sprint(i), "\x00", fmt.Sprint(i))
	}
	sn := s.Snapshot()
	defer sn.Close()
	for _, prefix := range []string{"n", ""} {
		var up, down []string
		appendTo := func(to *[]string) func(k, v []byte) (bool, error) {
			return func(k, v []byte) (bool, error) {
				if !isStoreRow(k) {
					*to = append(*to, string(k)+"="+string(v))
				}
				return true, nil
			}
		}
		if err := sn.Ascend([]byte(prefix), nil, appendTo(&up)); err != nil {
			t.Fatal(err)
		}
		if err := sn.Descend([]byte(prefix), nil, appendTo(&down)); err != nil {
			t.Fatal(err)
		}
		want := []string{"n=99", "n\x00=after"}
		if prefix == "" {
			want = []string{"\x00=99", "a=first", "n=99", "n\x00=after"}
		}
		slices.Reverse(down)
		if !slices.Equal(up, want) || !slices.Equal(down, want) {
			t.Errorf("under %q: %q up, %q down, want %q", prefix, up, down, want)
		}
	}
}

// By default, Badger's iterators read one row ahead and skip deleted rows to find it. So one backwards seek
// would read all deleted rows below its result.
func TestSeekSkipsNeighbouringDeletedRows(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	defer closeStore(t, s)
	g := NewGroup(next(s))
	for i := range 20_000 {
		g.Delete(fmt.Appendf(nil, "d%06d", i))
	}
	g.Set([]byte("e"), []byte("above them"))
	g.Set([]byte("x"), []byte("a neighbour"))
	g.Set([]byte("y"), []byte("above one row"))
	g.Seal()
	if err := s.Apply(g); err != nil {
		t.Fatal(err)
	}
	sn := s.Snapshot()
	defer sn.Close()
	seekTime, ascentTime := time.Hour, time.Hour // of several measurements the shortest, because other processes delay some
	for range 20 {
		started := time.Now()
		if _, _, found, err := sn.Last([]byte("e"), nil); !found || err != nil {
			t.Fatal(found, err)
		}
		seekTime = min(seekTime, time.Since(started))
		started = time.Now()
		if err := sn.Ascend([]byte("d"), nil, nil); err != nil { // Ascend has to read all deleted rows
			t.Fatal(err)
		}
		ascentTime = min(ascentTime, time.Since(started))
	}
	// Usually the seek takes a five-hundredth of the time of Ascend. If it read the deleted rows, it would take as long as
	// Ascend.
	if seekTime > ascentTime/10 {
		t.Errorf("a seek beside 20,000 deleted rows took %v, reading all of them %v", seekTime, ascentTime)
	}
}

func TestCallerOwnsTheSlicesOfLast(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	defer closeStore(t, s)
	set(t, s, "a1", "one", "a2", "two")
	sn := s.Snapshot()
	defer sn.Close()
	key, value, _, err := sn.Last([]byte("a"), []byte("a1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := sn.Last([]byte("a"), nil); err != nil {
		t.Fatal(err)
	}
	if string(key) != "a1" || string(value) != "one" {
		t.Errorf("after another call they hold %q and %q", key, value)
	}
}

func TestGetReusesTheGivenBuffer(t *testing.T) {
	s := open(t, Options{Dir: t.TempDir()})
	defer closeStore(t, s)
	set(t, s, "a", "value", "empty", "")
	sn := s.Snapshot()
	defer sn.Close()
	buffer := make([]byte, 3, 100)
	value, found, err := sn.Get([]byte("a"), buffer)
	if err != nil || !found || string(value) != "value" || &value[0] != &buffer[0] {
		t.Errorf("Get = %q, %v, %v", value, found, err)
	}
	if value, found, err = sn.Get([]byte("empty"), nil); err != nil || !found || len(value) != 0 {
		t.Errorf("Get of an empty value = %q, %v, %v", value, found, err)
	}
	if _, found, err = sn.Get([]byte("none"), nil); err != nil || found {
		t.Errorf("Get of no row = %v, %v", found, err)
	}
}
