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

// changeOfKVs returns a change that writes KVs (rows of key and value that belong to an actor). The texts are keys and values
// in turn. The value "-" removes the row.
func changeOfKVs(orgID ledger.ID, pairs ...string) *posting.Change {
	c := &posting.Change{Author: ledger.BySystem.Author()}
	for pair := range slices.Chunk(pairs, 2) {
		row := posting.KV{Org: orgID, Key: []byte(pair[0])}
		if pair[1] != "-" {
			row.Value = []byte(pair[1])
		}
		c.KVs = append(c.KVs, row)
	}
	return c
}

// kvs returns all KVs of an organization, as a map from keys to values.
func (f *fixture) kvs(orgID ledger.ID) map[string]string {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	rows := make(map[string]string)
	err := v.KVsAscending(orgID, nil, nil, func(key, value []byte) (bool, error) {
		rows[string(key)] = string(value)
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return rows
}

func (f *fixture) wantKVs(orgID ledger.ID, pairs ...string) {
	f.t.Helper()
	want := make(map[string]string)
	for pair := range slices.Chunk(pairs, 2) {
		want[pair[0]] = pair[1]
	}
	if got := f.kvs(orgID); !maps.Equal(got, want) {
		f.t.Errorf("the KVs are %v, want %v", got, want)
	}
}

func TestKVIsSetReplacedAndRemovedWithoutAStep(t *testing.T) {
	f := open(t)
	otherOrg := uuid.New()
	f.must(changeOfKVs(org, "a", "1", "b", "2", "e", ""))
	f.must(changeOfKVs(otherOrg, "a", "9"))
	f.restart()
	f.wantKVs(org, "a", "1", "b", "2", "e", "")
	f.must(changeOfKVs(org, "a", "3", "b", "-", "missing", "-"))
	f.wantKVs(org, "a", "3", "e", "")
	f.wantKVs(otherOrg, "a", "9")
	f.restart()
	f.wantKVs(org, "a", "3", "e", "")
}

func TestLaterRowWithTheSameKeyWinsInTheStore(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	f.submitTogether(d, []*posting.Change{
		changeOfKVs(org, "a", "1", "a", "2"), changeOfKVs(org, "b", "1"), changeOfKVs(org, "b", "-"), changeOfKVs(org, "c", "-"), changeOfKVs(org, "c", "4", "d", "1", "d", "-"),
	})
	f.wantKVs(org, "a", "2", "c", "4")
}

func TestRefusedChangeLeavesKVsUnchanged(t *testing.T) {
	f := open(t)
	f.must(changeOfKVs(org, "a", "1"))
	claim := []ledger.Claim{{Org: org, Kind: ledger.ClaimTxID, Key: "1/x", Owner: []byte("me")}}
	claimWinner, claimLoser := deposit(), changeOfKVs(org, "a", "2", "b", "3")
	claimWinner.Claims, claimLoser.Claims = claim, claim
	f.must(claimWinner)
	wantCode(t, f.submit(claimLoser).Err, ledger.ClaimTaken)
	f.wantKVs(org, "a", "1")
}

func TestInvalidKVPanicsInItsCaller(t *testing.T) {
	f := open(t)
	key := strings.Repeat("k", store.MaxKVKey)
	for name, row := range map[string]posting.KV{
		"without a key":                   {Org: org, Value: []byte{1}},
		"with too long a key":             {Org: org, Key: []byte(key + "k"), Value: []byte{1}},
		"with too long a value":           {Org: org, Key: []byte("a"), Value: make([]byte, store.MaxKVValue+1)},
		"with the prefix of notice pages": {Org: org, Key: []byte("n"), Value: []byte{1}},
		"in place of a notice page":       {Org: org, Key: []byte("n12345678"), Value: []byte{}},
		"removed without a key":           {Org: org},
		"removed, key too long":           {Org: org, Key: []byte(key + "k")},
		"removed, long notice key":        {Org: org, Key: []byte("n" + key)},
	} {
		if !panics(func() { f.submit(&posting.Change{KVs: []posting.KV{row}}) }) {
			t.Errorf("a row %s was accepted", name)
		}
	}
	f.must(changeOfKVs(org, key, strings.Repeat("v", store.MaxKVValue)))
	f.restart()
	if got := f.kvs(org); len(got[key]) != store.MaxKVValue {
		t.Errorf("the largest row came back with %d bytes", len(got[key]))
	}
}

func TestNoticePageCanBeRemoved(t *testing.T) {
	f := open(t)
	for range 3 {
		f.must(change(stepWithNotices(org, 1, "x")))
	}
	notices := f.storedNotices(org)
	secondPage := notices[3].PageStart
	pageKey := string(store.KVKey(store.KeyNoticePage(nil, org, secondPage)))
	f.must(changeOfKVs(org, pageKey, "-"))
	want := append(slices.Clone(notices[:3]), notices[6:]...)
	wantNotices(t, "stored", f.storedNotices(org), want)
	f.restart()
	wantNotices(t, "after a restart", f.storedNotices(org), want)
}

func TestKVsAreReadByPrefixInBothDirectionsAndWithSkips(t *testing.T) {
	f := open(t)
	var pairs []string
	for _, prefix := range []string{"a", "b", "c"} {
		for n := range 5 {
			pairs = append(pairs, fmt.Sprint(prefix, n), fmt.Sprint(n))
		}
	}
	f.must(changeOfKVs(org, pairs...))
	f.must(changeOfKVs(uuid.New(), "b2", "another's"))
	v := f.View()
	defer v.Close()
	var got []string
	collect := func(key, _ []byte) (bool, error) {
		got = append(got, string(key))
		return len(got) < 3, nil
	}
	wantKeys := func(what string, err error, want ...string) {
		t.Helper()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v (%v)", what, got, want, err)
		}
		got = nil
	}
	wantKeys("ascending", v.KVsAscending(org, []byte("b"), nil, collect), "b0", "b1", "b2")
	wantKeys("ascending from a key", v.KVsAscending(org, []byte("b"), []byte("b3"), collect), "b3", "b4")
	wantKeys("descending", v.KVsDescending(org, []byte("b"), nil, collect), "b4", "b3", "b2")
	wantKeys("descending from a key", v.KVsDescending(org, []byte("b"), []byte("b1x"), collect), "b1", "b0")
	collectWithSkip := func(key []byte) ([]byte, bool, error) {
		got = append(got, string(key))
		if string(key) == "b1" {
			return []byte("b4"), true, nil
		}
		return nil, true, nil
	}
	wantKeys("with a skip", v.KVKeys(org, []byte("b"), nil, collectWithSkip), "b0", "b1", "b4")
	wantKeys("from a key, with a skip", v.KVKeys(org, []byte("b"), []byte("b1"), collectWithSkip), "b1", "b4")
	if row, found, err := v.KV(org, []byte("c3")); string(row) != "3" || !found || err != nil {
		t.Errorf("one row: %q %v (%v)", row, found, err)
	}
	if row, found, err := v.KV(uuid.New(), []byte("c3")); found || err != nil {
		t.Errorf("another organization's: %q (%v)", row, err)
	}
}
