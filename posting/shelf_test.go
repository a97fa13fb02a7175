package posting_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// shelves is a change of rows of the shelf, given as key, value pairs; the value
// "-" removes the row.
func shelves(of ledger.ID, pairs ...string) *posting.Change {
	c := new(posting.Change)
	for pair := range slices.Chunk(pairs, 2) {
		row := posting.Shelf{Org: of, Key: []byte(pair[0])}
		if pair[1] != "-" {
			row.Value = []byte(pair[1])
		}
		c.Shelf = append(c.Shelf, row)
	}
	return c
}

// shelf is what an organization has there.
func (r *rig) shelf(of ledger.ID) map[string]string {
	r.t.Helper()
	v := r.View()
	defer v.Close()
	rows := make(map[string]string)
	err := v.ShelfAscending(of, nil, nil, func(key, value []byte) (bool, error) {
		rows[string(key)] = string(value)
		return true, nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return rows
}

func (r *rig) wantShelf(of ledger.ID, pairs ...string) {
	r.t.Helper()
	want := make(map[string]string)
	for pair := range slices.Chunk(pairs, 2) {
		want[pair[0]] = pair[1]
	}
	if got := r.shelf(of); !maps.Equal(got, want) {
		r.t.Errorf("the shelf has %v, want %v", got, want)
	}
}

func TestARowOfTheShelfIsSetReplacedAndRemovedAndNeedsNoStep(t *testing.T) {
	r := open(t)
	other := uuid.New()
	r.must(shelves(org, "a", "1", "b", "2", "e", ""))
	r.must(shelves(other, "a", "9"))
	r.restart()
	r.wantShelf(org, "a", "1", "b", "2", "e", "")
	r.must(shelves(org, "a", "3", "b", "-", "missing", "-"))
	r.wantShelf(org, "a", "3", "e", "")
	r.wantShelf(other, "a", "9")
	r.restart()
	r.wantShelf(org, "a", "3", "e", "")
}

func TestOfRowsWithOneKeyInAGroupTheLaterHolds(t *testing.T) {
	d := gated()
	r := openOn(t, d)
	r.together(d, []*posting.Change{
		shelves(org, "a", "1", "a", "2"), shelves(org, "b", "1"), shelves(org, "b", "-"), shelves(org, "c", "-"), shelves(org, "c", "4", "d", "1", "d", "-"),
	})
	r.wantShelf(org, "a", "2", "c", "4")
}

func TestARefusedChangeLeavesTheShelfAsItWas(t *testing.T) {
	r := open(t)
	r.must(shelves(org, "a", "1"))
	claim := []ledger.Claim{{Org: org, Kind: ledger.ClaimTxID, Key: "1/x", Owner: []byte("me")}}
	first, second := deposit(), shelves(org, "a", "2", "b", "3")
	first.Claims, second.Claims = claim, claim
	r.must(first)
	wantCode(t, r.submit(second).Err, ledger.ClaimTaken)
	r.wantShelf(org, "a", "1")
}

func TestRowsThatAreNoneStopTheirCallerOnly(t *testing.T) {
	r := open(t)
	key := strings.Repeat("k", store.MaxShelfKey)
	for name, row := range map[string]posting.Shelf{
		"without a key":          {Org: org, Value: []byte{1}},
		"with too long a key":    {Org: org, Key: []byte(key + "k"), Value: []byte{1}},
		"with too long a value":  {Org: org, Key: []byte("a"), Value: make([]byte, store.MaxShelfValue+1)},
		"among the notices":      {Org: org, Key: []byte("n"), Value: []byte{1}},
		"in place of a page":     {Org: org, Key: []byte("n12345678"), Value: []byte{}},
		"removed without a key":  {Org: org},
		"removed, key too long":  {Org: org, Key: []byte(key + "k")},
		"removed, key long by n": {Org: org, Key: []byte("n" + key)},
	} {
		if !panics(func() { r.submit(&posting.Change{Shelf: []posting.Shelf{row}}) }) {
			t.Errorf("a row %s was taken", name)
		}
	}
	r.must(shelves(org, key, strings.Repeat("v", store.MaxShelfValue)))
	r.restart()
	if got := r.shelf(org); len(got[key]) != store.MaxShelfValue {
		t.Errorf("the largest row came back with %d bytes", len(got[key]))
	}
}

func TestAPageOfNoticesCanBeRemoved(t *testing.T) {
	r := open(t)
	for range 3 {
		r.must(change(telling(org, 1, "x")))
	}
	all := r.stored(org)
	second := all[3].Page
	page := string(store.ShelfKey(store.KeyNoticePage(nil, org, second)))
	r.must(shelves(org, page, "-"))
	want := append(slices.Clone(all[:3]), all[6:]...)
	wantNotices(t, "stored", r.stored(org), want)
	r.restart()
	wantNotices(t, "after a restart", r.stored(org), want)
}

func TestTheShelfIsReadByPrefixBothWaysAndWithSkips(t *testing.T) {
	r := open(t)
	var pairs []string
	for _, prefix := range []string{"a", "b", "c"} {
		for n := range 5 {
			pairs = append(pairs, fmt.Sprint(prefix, n), fmt.Sprint(n))
		}
	}
	r.must(shelves(org, pairs...))
	r.must(shelves(uuid.New(), "b2", "another's"))
	v := r.View()
	defer v.Close()
	var got []string
	take := func(key, _ []byte) (bool, error) {
		got = append(got, string(key))
		return len(got) < 3, nil
	}
	wants := func(what string, err error, want ...string) {
		t.Helper()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v (%v)", what, got, want, err)
		}
		got = nil
	}
	wants("ascending", v.ShelfAscending(org, []byte("b"), nil, take), "b0", "b1", "b2")
	wants("ascending from", v.ShelfAscending(org, []byte("b"), []byte("b3"), take), "b3", "b4")
	wants("descending", v.ShelfDescending(org, []byte("b"), nil, take), "b4", "b3", "b2")
	wants("descending from", v.ShelfDescending(org, []byte("b"), []byte("b1x"), take), "b1", "b0")
	skips := func(key []byte) ([]byte, bool, error) {
		got = append(got, string(key))
		if string(key) == "b1" {
			return []byte("b4"), true, nil
		}
		return nil, true, nil
	}
	wants("with a skip", v.ShelfKeys(org, []byte("b"), nil, skips), "b0", "b1", "b4")
	wants("from, with a skip", v.ShelfKeys(org, []byte("b"), []byte("b1"), skips), "b1", "b4")
	if row, found, err := v.ShelfRow(org, []byte("c3")); string(row) != "3" || !found || err != nil {
		t.Errorf("one row: %q %v (%v)", row, found, err)
	}
	if row, found, err := v.ShelfRow(uuid.New(), []byte("c3")); found || err != nil {
		t.Errorf("another organization's: %q (%v)", row, err)
	}
}
