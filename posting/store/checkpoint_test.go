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

// newCheckpoint returns the head of a checkpoint after event 9 with the given number of accounts, the keys of
// these accounts, and the parts.
func newCheckpoint(accounts int) (h CheckpointHead, keys []string, parts [][]byte) {
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
		h, keys, parts := newCheckpoint(accounts)
		got, err := DecodeCheckpointHead(KeyCheckpointHead(h.Booked), EncodeCheckpointHead(&h))
		if err != nil || !reflect.DeepEqual(got, h) || got.Accounts != uint64(accounts) || len(parts) != len(h.Parts) {
			t.Fatalf("of %d accounts: %v, %d parts", accounts, err, len(parts))
		}
		var keysRead []string
		for place, part := range parts {
			partStart := len(keysRead)
			err := DecodeCheckpointPart(part, func(key []byte, totals *ledger.Totals) (bool, error) {
				if n := len(keysRead); totals.DebitsPosted != money.FromUint64(uint64(n)) || totals.CreditsPending != money.FromUint64(7) {
					t.Errorf("account %d has %+v", n, totals)
				}
				keysRead = append(keysRead, string(key))
				return true, nil
			})
			if err != nil || keysRead[partStart] != string(h.Parts[place].First) {
				t.Errorf("part %d begins with %q, not with %q: %v", place, keysRead[partStart], h.Parts[place].First, err)
			}
		}
		if !slices.Equal(keysRead, keys) {
			t.Errorf("of %d accounts %d are read, or others", accounts, len(keysRead))
		}
	}
}

func TestMalformedCheckpointHeadIsRefused(t *testing.T) {
	h, _, _ := newCheckpoint(3)
	key, row := KeyCheckpointHead(h.Booked), EncodeCheckpointHead(&h)
	rowWith := func(change func(h *CheckpointHead)) []byte {
		copied := h
		change(&copied)
		return EncodeCheckpointHead(&copied)
	}
	for name, c := range map[string]struct{ key, row []byte }{
		"an empty row":        {key, nil},
		"another version":     {key, append([]byte{2}, row[1:]...)},
		"a part's key":        {KeyCheckpointPart(9, 0), row},
		"a longer key":        {append(bytes.Clone(key), 0), row},
		"no event":            {key, rowWith(func(h *CheckpointHead) { h.Seq, h.Previous = 0, 0 })},
		"its own predecessor": {key, rowWith(func(h *CheckpointHead) { h.Previous = h.Seq })},
		"a later predecessor": {key, rowWith(func(h *CheckpointHead) { h.Previous = h.Seq + 1 })},
	} {
		if got, err := DecodeCheckpointHead(c.key, c.row); err == nil {
			t.Errorf("%s: it is read as %+v", name, got)
		}
	}
	const fixedBytes = 1 + 1 + 1 + 1 // version, seq, previous, number of accounts; a row of only these is a head without parts
	for n := range row {
		if _, err := DecodeCheckpointHead(key, row[:n]); err == nil && n != fixedBytes {
			t.Errorf("%d bytes of it are read", n)
		}
	}
}

func TestMalformedCheckpointPartIsRefused(t *testing.T) {
	countAccounts := func(part []byte) (accounts int, err error) {
		err = DecodeCheckpointPart(part, func([]byte, *ledger.Totals) (bool, error) {
			accounts++
			return true, nil
		})
		return accounts, err
	}
	_, _, parts := newCheckpoint(2)
	_, _, oneAccount := newCheckpoint(1)
	for n := 1; n < len(parts[0]); n++ {
		if _, err := countAccounts(parts[0][:n]); err == nil && n != len(oneAccount[0]) {
			t.Errorf("%d bytes of it are read", n)
		}
	}
	// The first account of a part has no previous key.
	if accounts, err := countAccounts(append([]byte{1}, parts[0][1:]...)); err == nil {
		t.Errorf("%d accounts are read, the first like one before it", accounts)
	}
}

// As long as Full is false, the head fits into a KV. Full becomes true only
// when the head has nine tenths of the bytes that a KV may have.
func TestCheckpointHeadIsFullBeforeItIsTooLong(t *testing.T) {
	var w CheckpointWriter
	partCount := 0 // before the last account
	for n := 0; !w.Full() && n < 1<<20; n++ {
		partCount = len(w.Head.Parts)
		w.Add(AccountKey(nil, ledger.Account{Path: ledger.Path(fmt.Sprintf("L:%0190d", n)), Asset: manats}), &ledger.Totals{})
		w.row = w.row[:0] // the next account begins a part
	}
	if !w.Full() {
		t.Fatal("it is never full")
	}
	w.Head.Seq, w.Head.Previous, w.Head.Accounts = ^uint64(0), ^uint64(1), ^uint64(0)
	w.Head.Parts = w.Head.Parts[:partCount]
	if got := len(EncodeCheckpointHead(&w.Head)); got > MaxKVValue || got < MaxKVValue*9/10 {
		t.Errorf("with %d parts it has %d bytes", partCount, got)
	}
}
