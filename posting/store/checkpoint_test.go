package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
)

var manats = money.Asset{Currency: "AZN", Env: money.Prod}

// testCheckpoint is a checkpoint after event 9, and its rows by their keys.
type testCheckpoint struct {
	CheckpointHead
	keys []string // keys of its accounts and of their group
	rows map[string][]byte
}

// movementOfAccount returns the movement of account n in the checkpoints of these tests.
func movementOfAccount(n int) ledger.Movement {
	m := ledger.Movement{DebitsPosted: money.Signed{Abs: money.FromUint64(uint64(n))}}
	if n%2 == 1 {
		m.CreditsPending = money.Signed{Negative: n%3 == 0, Abs: money.FromUint64(7)}
	}
	return m
}

func newCheckpoint(t *testing.T, accounts, rowBytes int) *testCheckpoint {
	t.Helper()
	c := &testCheckpoint{rows: make(map[string][]byte)}
	w := CheckpointWriter{RowBytes: rowBytes, Write: func(key, row []byte) error {
		c.rows[string(key)] = row
		return nil
	}}
	w.Head.Seq, w.Head.Booked, w.Head.Previous, w.Head.Base = 9, 77, 4, CheckpointID{Seq: 2, Booked: 30}
	for n := range accounts {
		key := AccountKey(nil, ledger.Account{Path: ledger.Path(fmt.Sprintf("L:partner:%06d:available", n)), Asset: manats})
		c.keys = append(c.keys, string(key))
		m := movementOfAccount(n)
		if err := w.Add(key, &m); err != nil {
			t.Fatal(err)
		}
	}
	if accounts > 0 {
		c.keys = append(c.keys, string(GroupKey(nil, []byte(c.keys[0]))))
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	w.Head.ChainAccounts = w.Head.Accounts + 5
	c.CheckpointHead = w.Head
	return c
}

// keysBelow returns the keys of the accounts in those rows that a list names. The rows have this height. keysBelow checks the
// rows against the list.
func (c *testCheckpoint) keysBelow(t *testing.T, height, firstNumber int, list []CheckpointItem) (keys []string) {
	t.Helper()
	for i := range list {
		row := c.rows[string(KeyCheckpointRow(c.Seq, height, firstNumber+i))]
		start := len(keys)
		if sha256.Sum256(row) != list[i].Sum {
			t.Errorf("row %d of height %d has another sum", firstNumber+i, height)
		}
		if height > 0 {
			firstBelow, items, err := DecodeCheckpointIndex(row)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, c.keysBelow(t, height-1, firstBelow, items)...)
		} else {
			keys = append(keys, readPart(t, row)...)
		}
		if len(keys) == start || keys[start] != string(list[i].First) {
			t.Errorf("row %d of height %d does not begin with %q", firstNumber+i, height, list[i].First)
		}
	}
	return keys
}

// readPart returns the keys of a part's accounts and checks their movements.
func readPart(t *testing.T, row []byte) (keys []string) {
	t.Helper()
	part := NewCheckpointPart(row)
	for {
		more, err := part.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return keys
		}
		var n int
		if group, ok := ParseGroupKey(part.Key); ok {
			if group != (ledger.Account{Path: "L:partner:", Asset: manats}) {
				t.Errorf("the group is %+v", group)
			}
			keys = append(keys, string(part.Key))
			continue
		}
		if _, err := fmt.Sscanf(string(part.Key[1:]), "L:partner:%d", &n); err != nil || part.Movement != movementOfAccount(n) {
			t.Errorf("account %d has %+v (%v)", n, part.Movement, err)
		}
		keys = append(keys, string(part.Key))
	}
}

func TestCheckpointRoundTrip(t *testing.T) {
	for _, c := range []struct{ accounts, rowBytes, height int }{
		{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {5_000, 0, 0}, {20, 300, 0}, {80, 300, 1}, {5_000, 300, 3}, {5_000, 600, 2},
	} {
		checkpoint := newCheckpoint(t, c.accounts, c.rowBytes)
		h := checkpoint.CheckpointHead
		got, err := DecodeCheckpointHead(KeyCheckpointHead(h.Booked), EncodeCheckpointHead(&h))
		if err != nil || !reflect.DeepEqual(got, h) || got.Accounts != uint64(c.accounts) || got.Rows != uint64(len(checkpoint.rows)) || got.Height != c.height {
			t.Fatalf("%+v: %v, height %d, %d rows", c, err, got.Height, len(checkpoint.rows))
		}
		if keys := checkpoint.keysBelow(t, h.Height, 0, h.List); !slices.Equal(keys, checkpoint.keys) {
			t.Errorf("%+v: %d accounts are read, or wrong ones", c, len(keys))
		}
		for key := range checkpoint.rows {
			if seq, _, _, ok := ParseCheckpointRow([]byte(key)); !ok || seq != h.Seq {
				t.Errorf("%+v: a row with key %x", c, key)
			}
		}
	}
}

// Every row fits into a KV, even if all accounts have keys of the maximum length and amounts of the maximum size.
func TestCheckpointRowsFitIntoKVs(t *testing.T) {
	rows, longest := 0, 0
	w := CheckpointWriter{Write: func(_, row []byte) error {
		rows++
		longest = max(longest, len(row))
		return nil
	}}
	huge := money.Signed{Negative: true, Abs: money.Max}
	m := ledger.Movement{DebitsPosted: huge, CreditsPosted: huge, DebitsPending: huge, CreditsPending: huge}
	for n := 0; len(w.lists) < 2; n++ {
		path := fmt.Sprintf("L:%08d", n)
		asset := money.Asset{Currency: money.Currency(strings.Repeat("c", money.MaxName)), Network: money.Network(strings.Repeat("n", money.MaxName)), Env: money.Prod}
		if err := w.Add(AccountKey(nil, ledger.Account{Path: ledger.Path(path + strings.Repeat("x", ledger.MaxPath-len(path))), Asset: asset}), &m); err != nil {
			t.Fatal(err)
		}
	}
	w.Head.List = append(w.lists[1].items, make([]CheckpointItem, 100)...)
	if head := len(EncodeCheckpointHead(&w.Head)); longest < maxCheckpointRow || longest > MaxKVValue || head > MaxKVValue {
		t.Errorf("of %d rows the longest has %d bytes, the head %d", rows, longest, head)
	}
}

func TestMalformedCheckpointHeadIsRefused(t *testing.T) {
	h := newCheckpoint(t, 3, 0).CheckpointHead
	key, row := KeyCheckpointHead(h.Booked), EncodeCheckpointHead(&h)
	rowWith := func(change func(h *CheckpointHead)) []byte {
		copied := h
		change(&copied)
		return EncodeCheckpointHead(&copied)
	}
	// sealed appends the SHA-256 with which the row of a head ends.
	sealed := func(key, row []byte) []byte {
		sum := headSum(key, row)
		return append(bytes.Clone(row), sum[:]...)
	}
	withoutSum := row[:len(row)-sha256.Size]
	longerKey := append(bytes.Clone(key), 0)
	for name, c := range map[string]struct{ key, row []byte }{
		"an empty row":            {key, nil},
		"another version":         {key, sealed(key, append([]byte{1}, withoutSum[1:]...))},
		"a part's key":            {KeyCheckpointRow(9, 0, 0), sealed(KeyCheckpointRow(9, 0, 0), withoutSum)},
		"a longer key":            {longerKey, sealed(longerKey, withoutSum)},
		"another key":             {KeyCheckpointHead(78), row},
		"no event":                {key, rowWith(func(h *CheckpointHead) { h.Seq, h.Previous, h.Base.Seq = 0, 0, 0 })},
		"its own predecessor":     {key, rowWith(func(h *CheckpointHead) { h.Previous = h.Seq })},
		"a later predecessor":     {key, rowWith(func(h *CheckpointHead) { h.Previous = h.Seq + 1 })},
		"a base that is later":    {key, rowWith(func(h *CheckpointHead) { h.Base.Seq = h.Previous + 1 })},
		"a base that booked then": {key, rowWith(func(h *CheckpointHead) { h.Base.Booked = h.Booked })},
		"a too great height":      {key, rowWith(func(h *CheckpointHead) { h.Height = maxCheckpointHeight + 1 })},
	} {
		if got, err := DecodeCheckpointHead(c.key, c.row); err == nil {
			t.Errorf("%s: it is read as %+v", name, got)
		}
	}
	const fixedBytes = 1 + 8 // version and eight numbers; a row with nothing else is a head with an empty list
	for n := range withoutSum {
		if _, err := DecodeCheckpointHead(key, sealed(key, row[:n])); err == nil && n != fixedBytes {
			t.Errorf("%d bytes of it are read", n)
		}
	}
	for n := range row {
		changed := bytes.Clone(row)
		changed[n] ^= 1
		if _, err := DecodeCheckpointHead(key, changed); err == nil {
			t.Errorf("it is read with its byte %d changed", n)
		}
	}
}

func TestMalformedCheckpointIndexIsRefused(t *testing.T) {
	c := newCheckpoint(t, 80, 300)
	row := c.rows[string(KeyCheckpointRow(c.Seq, 1, 0))]
	_, items, err := DecodeCheckpointIndex(row)
	if err != nil {
		t.Fatal(err)
	}
	ends := []int{} // lengths at which items end: a row that is cut there has a shorter list
	for i := range items {
		ends = append(ends, 1+len(appendItems(nil, items[:i+1])))
	}
	for n := range row {
		if _, _, err := DecodeCheckpointIndex(row[:n]); err == nil && !slices.Contains(ends, n) {
			t.Errorf("%d bytes of it are read", n)
		}
	}
}

func TestMalformedCheckpointPartIsRefused(t *testing.T) {
	countAccounts := func(row []byte) (accounts int, err error) {
		part := NewCheckpointPart(row)
		for {
			more, err := part.Next()
			if err != nil || !more {
				return accounts, err
			}
			accounts++
		}
	}
	partOf := func(accounts int) []byte { // without groups
		var w CheckpointWriter
		for n := range accounts {
			m := movementOfAccount(n)
			if err := w.Add([]byte(newCheckpoint(t, n+1, 0).keys[n]), &m); err != nil {
				t.Fatal(err)
			}
		}
		return w.part
	}
	part, oneAccount := partOf(2), partOf(1)
	for n := 1; n < len(part); n++ {
		if _, err := countAccounts(part[:n]); err == nil && n != len(oneAccount) {
			t.Errorf("%d bytes of it are read", n)
		}
	}
	// The first account of a part has no previous key.
	if accounts, err := countAccounts(append([]byte{1}, part[1:]...)); err == nil {
		t.Errorf("%d accounts are read, the first like one before it", accounts)
	}
	// A movement has only one encoded form: a member that is zero is not encoded, and only an encoded member can be negative.
	withoutMovement := oneAccount[:len(oneAccount)-1]
	for name, movement := range map[string][]byte{"a stored zero": {1, 0}, "a negative zero": {1 << 4}} {
		if _, err := countAccounts(append(bytes.Clone(withoutMovement), movement...)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}
