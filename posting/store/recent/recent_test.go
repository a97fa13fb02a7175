package recent

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"mizan/internal/testseed"
	"slices"
	"strings"
	"testing"
)

// state has the value that each row has after a group. The keys are the keys of the rows; a removed row has the value "-".
type state map[string]string

// randomGroup returns the size and the rows of a random group. It changes the state to the one after the group.
func randomGroup(r *rand.Rand, n int, s state) (Size, iter.Seq[Row]) {
	const alphabet = "\x00ab\xfe\xff"
	var rows []Row
	size := Size{}
	for range 1 + r.IntN(10) {
		key := []byte{alphabet[1+r.IntN(4)]}
		for range r.IntN(3) {
			key = append(key, alphabet[r.IntN(len(alphabet))])
		}
		row := Row{Key: key, Stored: fmt.Appendf(nil, "%d %s", n, strings.Repeat("x", r.IntN(50)))}
		s[string(key)] = string(row.Stored)
		if r.IntN(3) == 0 {
			row = Row{Key: key, IsDeletion: true}
			s[string(key)] = "-"
		}
		rows = append(rows, row)
		size = size.plus(Size{1, len(row.Key) + len(row.Stored)})
	}
	return size, slices.Values(rows)
}

type cursor interface {
	Valid() bool
	Key() []byte
	IsDeletion() bool
	Stored() ([]byte, error)
	Next() error
	Close()
}

// read returns the keys and values of all rows from the cursor on.
func read(t *testing.T, c cursor) (keys, values []string) {
	t.Helper()
	defer c.Close()
	for c.Valid() {
		value, err := c.Stored()
		if err != nil {
			t.Fatal(err)
		}
		if c.IsDeletion() {
			value = []byte("-")
		}
		keys, values = append(keys, string(c.Key())), append(values, string(value))
		if err := c.Next(); err != nil {
			t.Fatal(err)
		}
	}
	return keys, values
}

// A reader sees the state after the group that it asks for, whatever groups follow. This holds for Get, and for iterators in
// both directions, from any key and within any prefix.
func TestReadersSeeTheStateAfterTheirGroup(t *testing.T) {
	random := rand.New(rand.NewPCG(testseed.Seed(t), 0))
	rows := New(Size{10_000, 1 << 20}, Size{})
	current, states := state{}, []state{{}}
	for n := 1; n <= 200; n++ {
		size, group := randomGroup(random, n, current)
		rows.Add(uint64(n), size, group)
		states = append(states, maps.Clone(current))
	}
	for range 300 {
		n := random.IntN(len(states))
		want := states[n]
		var buffer []byte
		for key := range current {
			row, found := rows.Get([]byte(key), uint64(n), &buffer)
			got := string(row.Stored)
			if row.IsDeletion {
				got = "-"
			}
			if value, exists := want[key]; found != exists || got != value {
				t.Fatalf("group %d, key %q: %q, want %q", n, key, got, value)
			}
		}
		allKeys := slices.Sorted(maps.Keys(current))
		prefix := []byte(allKeys[random.IntN(len(allKeys))])[:random.IntN(2)]
		from := []byte(allKeys[random.IntN(len(allKeys))])
		var wantKeys, wantBackwards []string
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if !strings.HasPrefix(key, string(prefix)) {
				continue
			}
			if key >= string(from) {
				wantKeys = append(wantKeys, key)
			}
			if key <= string(from) {
				wantBackwards = append([]string{key}, wantBackwards...)
			}
		}
		forward := rows.Forward(prefix, uint64(n))
		forward.Seek(slices.MaxFunc([][]byte{prefix, from}, bytes.Compare))
		for direction, c := range map[string]struct {
			cursor
			want []string
		}{"forwards": {forward, wantKeys}, "backwards": {rows.Backward(prefix, from, uint64(n)), wantBackwards}} {
			keys, values := read(t, c)
			if !slices.Equal(keys, c.want) {
				t.Fatalf("group %d, prefix %q, %s from %q: %q, want %q", n, prefix, direction, from, keys, c.want)
			}
			for i, key := range keys {
				if values[i] != want[key] {
					t.Fatalf("group %d, key %q: %q, want %q", n, key, values[i], want[key])
				}
			}
		}
	}
	newest := state{}
	for row := range rows.Newest() {
		newest[string(row.Key)] = string(row.Stored)
		if row.IsDeletion {
			newest[string(row.Key)] = "-"
		}
	}
	if !maps.Equal(newest, current) {
		t.Errorf("Newest has %d rows, which differ from the %d expected ones", len(newest), len(current))
	}
}

// A set accepts groups up to its limits in rows, bytes and memory. It always accepts the first group, for whose size it was
// made.
func TestSetTakesGroupsUpToItsBounds(t *testing.T) {
	for name, group := range map[string]Size{"many short rows": {900, 900 * 12}, "few long rows": {3, 90_000}} {
		rows := New(Size{1000, 100_000}, group)
		if !rows.Fits(group) {
			t.Errorf("%s: the group does not fit into the set that was made for it", name)
		}
		rows.Add(1, group, func(yield func(Row) bool) {
			for n := range group.Rows {
				key := fmt.Appendf(nil, "%08d", n)
				if !yield(Row{Key: key, Stored: make([]byte, group.Bytes/group.Rows-len(key))}) {
					return
				}
			}
		})
		if rows.Fits(group) {
			t.Errorf("%s: the set takes more than its bounds", name)
		}
	}
	for name, group := range map[string]Size{"rows": {1001, 10}, "bytes": {1, 100_001}} {
		if New(Size{1000, 100_000}, group).Fits(group) {
			t.Errorf("a group with too many %s fits", name)
		}
	}
}
