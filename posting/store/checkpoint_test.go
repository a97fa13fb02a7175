package store

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
)

var manats = money.Asset{Currency: "AZN", Env: money.Prod}

// checkpoint returns the head of a checkpoint after event 9 with the given number of accounts, the keys of
// these accounts, and the parts.
func checkpoint(accounts int) (h CheckpointHead, keys []string, parts [][]byte) {
	w := CheckpointWriter{Head: CheckpointHead{Seq: 9, Booked: 77, Previous: 4}}
	for n := range accounts {
		key := AccountKey(nil, ledger.Account{Path: ledger.Path(fmt.Sprintf("L:partner:%06d:available", n)), Asset: manats})
		keys = append(keys, string(key))
		if part := w.Add(key, &ledger.Totals{DebitsPosted: money.FromUint64(uint64(n)), CreditsPending: money.FromUint64(7)}); part != nil {
			parts = append(parts, part)
		}
	}
	if part := w.Flush(); part != nil {
		parts = append(parts, part)
	}
	return w.Head, keys, parts
}

func TestCheckpointRoundTrip(t *testing.T) {
	for _, accounts := range []int{0, 1, 2, 5_000} {
		h, keys, parts := checkpoint(accounts)
		got, err := DecodeCheckpointHead(KeyCheckpointHead(h.Booked), EncodeCheckpointHead(&h))
		if err != nil || !reflect.DeepEqual(got, h) || got.Accounts != uint64(accounts) || len(parts) != len(h.Parts) {
			t.Fatalf("of %d accounts: %v, %d parts", accounts, err, len(parts))
		}
		var read []string
		for place, part := range parts {
			first := len(read)
			err := DecodeCheckpointPart(part, func(key []byte, totals *ledger.Totals) (bool, error) {
				if n := len(read); totals.DebitsPosted != money.FromUint64(uint64(n)) || totals.CreditsPending != money.FromUint64(7) {
					t.Errorf("account %d has %+v", n, totals)
				}
				read = append(read, string(key))
				return true, nil
			})
			if err != nil || read[first] != string(h.Parts[place].First) {
				t.Errorf("part %d begins with %q, not with %q: %v", place, read[first], h.Parts[place].First, err)
			}
		}
		if !slices.Equal(read, keys) {
			t.Errorf("of %d accounts %d are read, or others", accounts, len(read))
		}
	}
}

func TestMalformedCheckpointHeadIsRefused(t *testing.T) {
	h, _, _ := checkpoint(3)
	key, row := KeyCheckpointHead(h.Booked), EncodeCheckpointHead(&h)
	changed := func(change func(h *CheckpointHead)) []byte {
		copied := h
		change(&copied)
		return EncodeCheckpointHead(&copied)
	}
	for name, c := range map[string]struct{ key, row []byte }{
		"nothing":                  {key, nil},
		"another version":          {key, append([]byte{2}, row[1:]...)},
		"a part's key":             {KeyCheckpointPart(9, 0), row},
		"a longer key":             {append(bytes.Clone(key), 0), row},
		"of no event":              {key, changed(func(h *CheckpointHead) { h.Seq, h.Previous = 0, 0 })},
		"made of itself":           {key, changed(func(h *CheckpointHead) { h.Previous = h.Seq })},
		"made of what comes later": {key, changed(func(h *CheckpointHead) { h.Previous = h.Seq + 1 })},
	} {
		if got, err := DecodeCheckpointHead(c.key, c.row); err == nil {
			t.Errorf("%s: it is read as %+v", name, got)
		}
	}
	const fixedBytes = 1 + 1 + 1 + 1 // version, seq, previous and number of accounts: only whole parts after them may be missing
	for n := range row {
		if _, err := DecodeCheckpointHead(key, row[:n]); err == nil && n != fixedBytes {
			t.Errorf("%d bytes of it are read", n)
		}
	}
}

func TestMalformedCheckpointPartIsRefused(t *testing.T) {
	read := func(part []byte) (accounts int, err error) {
		err = DecodeCheckpointPart(part, func([]byte, *ledger.Totals) (bool, error) {
			accounts++
			return true, nil
		})
		return accounts, err
	}
	_, _, parts := checkpoint(2)
	_, _, oneAccount := checkpoint(1)
	for n := 1; n < len(parts[0]); n++ {
		if _, err := read(parts[0][:n]); err == nil && n != len(oneAccount[0]) {
			t.Errorf("%d bytes of it are read", n)
		}
	}
	// The first account of a part has no previous key.
	if accounts, err := read(append([]byte{1}, parts[0][1:]...)); err == nil {
		t.Errorf("%d accounts are read, the first like one before it", accounts)
	}
}

// A head that is not full fits into a KV, and it becomes full before it no longer fits.
func TestCheckpointHeadIsFullBeforeItIsTooLong(t *testing.T) {
	var w CheckpointWriter
	last := 0
	for n := 0; !w.Full() && n < 1<<20; n++ {
		last = len(w.Head.Parts)
		w.Add(AccountKey(nil, ledger.Account{Path: ledger.Path(fmt.Sprintf("L:%0190d", n)), Asset: manats}), &ledger.Totals{})
		w.row = w.row[:0] // the next account begins a part
	}
	if !w.Full() {
		t.Fatal("it is never full")
	}
	w.Head.Seq, w.Head.Previous, w.Head.Accounts = ^uint64(0), ^uint64(1), ^uint64(0)
	w.Head.Parts = w.Head.Parts[:last]
	if got := len(EncodeCheckpointHead(&w.Head)); got > MaxKVValue || got < MaxKVValue*9/10 {
		t.Errorf("with %d parts it has %d bytes", last, got)
	}
}
