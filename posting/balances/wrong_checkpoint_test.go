package balances_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
	"mizan/posting/store"
)

// A missing or wrong row of a checkpoint changes no result. The row may be a head, a part or an index row. It may belong to the
// checkpoint before the requested moment, or to any other checkpoint of that checkpoint's chain. A rebuilt checkpoint equals the
// lost one.
func TestMissingCheckpointRowsOnlyCostTime(t *testing.T) {
	f := open(t)
	f.draft = balances.DraftCheckpointInShortRows
	random := testseed.Random(t)
	instants := historyOfMany(f, random, 30)
	checkpoints := f.makeCheckpoints(balances.Checkpoint{})
	rows := f.checkpointRows()
	query := balances.Query{Env: money.Prod, At: instants[len(instants)-1]}
	want := f.trial(query)
	if len(want) < balances.FewAccounts {
		t.Fatalf("only %d accounts, which are read from their pages", len(want))
	}
	keys := f.chainRows(&checkpoints[len(checkpoints)-1])
	if len(keys) < 8 {
		t.Fatalf("the chain has only %d rows", len(keys))
	}
	for n, key := range keys {
		row := rows[key]
		changed := []byte(row)
		changed[random.IntN(len(row))] ^= 1
		fault := []struct {
			name string
			row  []byte
		}{{"missing", nil}, {"cut short", []byte(row[:random.IntN(len(row))])}, {"changed", changed}, {"another", []byte(rows[keys[random.IntN(len(keys))]])}}[n%4]
		f.submitKVs(posting.KV{Org: org, Key: []byte(key), Value: fault.row})
		if got := f.trial(query); !slices.Equal(got, want) {
			t.Errorf("the row %x is %s: %q", key, fault.name, got)
		}
		f.submitKVs(posting.KV{Org: org, Key: []byte(key), Value: []byte(row)})
	}
	for key := range rows {
		f.submitKVs(posting.KV{Org: org, Key: []byte(key)})
	}
	if got := f.trial(query); !slices.Equal(got, want) {
		t.Errorf("without any checkpoint: %q", got)
	}
	f.makeCheckpoints(balances.Checkpoint{})
	if got := f.checkpointRows(); !maps.Equal(got, rows) {
		t.Errorf("the %d rebuilt rows differ from the %d lost ones", len(got), len(rows))
	}
}

// chainRows returns the keys of all rows of the checkpoints in a chain: the checkpoint, its base, the base's base and so on.
func (f *fixture) chainRows(c *balances.Checkpoint) (keys []string) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	chain, err := balances.ReadChain(v, org, c)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, c := range chain {
		keys = append(keys, string(store.KeyCheckpointHead(c.Booked)))
		err := v.KVKeys(org, store.CheckpointRowsOf(c.Seq), nil, func(key []byte) ([]byte, bool, error) {
			keys = append(keys, string(key))
			return nil, true, nil
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return keys
}

// If a part of a checkpoint is wrong, the accounts of that part and of later parts are read from their pages (the rows
// with their lines), each account once.
func TestWrongCheckpointPartFallsBackToPages(t *testing.T) {
	f := open(t)
	for n := range 3 {
		f.MustSubmit(entriesOfNewPartners(n))
	}
	f.setClock(1, 12)
	f.MustSubmit(deposit(1))
	checkpoints := f.makeCheckpoints(balances.Checkpoint{})
	if len(checkpoints) != 1 || len(checkpoints[0].List) < 3 {
		t.Fatalf("there are %d checkpoints: %+v", len(checkpoints), checkpoints)
	}
	query := balances.Query{Env: money.Prod, At: 1 << 62}
	want := f.trialInEveryWay(query)
	if len(want) != 1+3*posting.MaxSteps {
		t.Errorf("there are %d accounts", len(want))
	}
	f.submitKVs(posting.KV{Org: org, Key: store.KeyCheckpointRow(checkpoints[0].Seq, 0, 1), Value: []byte("?")})
	if got := f.trial(query); !slices.Equal(got, want) {
		t.Errorf("%d accounts are read, want %d, or their totals differ", len(got), len(want))
	}
}

func TestMissingCheckpointRowIsDetected(t *testing.T) {
	f := open(t)
	f.draft = balances.DraftCheckpointInShortRows
	historyOfMany(f, rand.New(rand.NewPCG(1, 2)), 5)
	checkpoints := f.makeCheckpoints(balances.Checkpoint{})
	checkpoint := checkpoints[len(checkpoints)-1]
	hasAllRows := func() bool {
		view := f.Journal.View()
		defer view.Close()
		hasAll, err := balances.HasRows(view, org, &checkpoint)
		if err != nil {
			t.Fatal(err)
		}
		return hasAll
	}
	if !hasAllRows() {
		t.Error("a complete checkpoint lacks rows")
	}
	rows := f.checkpointRows()
	surplus := store.KeyCheckpointRow(checkpoint.Seq, 0, 99)
	for _, key := range f.chainRows(&checkpoint) {
		if seq, _, _, ok := store.ParseCheckpointRow([]byte(key)); !ok || seq != checkpoint.Seq {
			continue
		}
		f.submitKVs(posting.KV{Org: org, Key: []byte(key)})
		if hasAllRows() {
			t.Errorf("without %x it has all rows", key)
		}
		f.submitKVs(posting.KV{Org: org, Key: surplus, Value: []byte("?")})
		if hasAllRows() {
			t.Errorf("without %x, but with a row of another key, it has all rows", key)
		}
		f.submitKVs(posting.KV{Org: org, Key: surplus}, posting.KV{Org: org, Key: []byte(key), Value: []byte(rows[key])})
	}
}

// No checkpoint is computed from a wrong checkpoint. The error names the wrong checkpoint, which may be any one of the chain.
func TestCheckpointIsNotMadeOfAWrongOne(t *testing.T) {
	f := open(t)
	f.draft = balances.DraftCheckpointInShortRows
	historyOfMany(f, rand.New(rand.NewPCG(1, 2)), 20)
	f.setClock(20, 12)
	f.MustSubmit(entriesOfNewPartners(0)) // so many accounts that all checkpoints of the chain are merged
	checkpoints := f.makeCheckpoints(balances.Checkpoint{})
	last := checkpoints[len(checkpoints)-1]
	f.setClock(21, 12)
	f.MustSubmit(deposit(1))
	rows := f.checkpointRows()
	draft := func() error {
		view := f.Journal.View()
		defer view.Close()
		seq, due, err := balances.NextCheckpoint(view, org, &last)
		if err != nil || !due {
			t.Fatal(due, err)
		}
		_, err = f.draft(view, org, &last, seq, func(posting.KV) error { return nil })
		return err
	}
	if err := draft(); err != nil {
		t.Fatal(err)
	}
	for _, key := range f.chainRows(&last) {
		seq, _, _, isRow := store.ParseCheckpointRow([]byte(key))
		if !isRow {
			continue
		}
		f.submitKVs(posting.KV{Org: org, Key: []byte(key), Value: []byte("?")})
		if wrong, ok := errors.AsType[*balances.IncompleteCheckpointError](draft()); !ok || wrong.Seq != seq {
			t.Errorf("with a wrong row %x: %v", key, wrong)
		}
		f.submitKVs(posting.KV{Org: org, Key: []byte(key), Value: []byte(rows[key])})
	}
}

// A reader refuses a chain of more than maxChain checkpoints, because no correct chain is that long.
func TestEndlessChainIsNotFollowed(t *testing.T) {
	f := open(t)
	for _, c := range []struct {
		length  uint64
		isWhole bool
	}{{balances.MaxChain, true}, {balances.MaxChain + 1, false}} {
		var last balances.Checkpoint
		for seq := uint64(1); seq <= c.length; seq++ {
			head := balances.Checkpoint{Previous: seq - 1, Base: last.CheckpointID}
			head.Seq, head.Booked = seq, ledger.Micros(seq)
			f.submitKVs(posting.KV{Org: org, Key: store.KeyCheckpointHead(head.Booked), Value: store.EncodeCheckpointHead(&head)})
			last = head
		}
		view := f.Journal.View()
		chain, err := balances.ReadChain(view, org, &last)
		view.Close()
		if _, isNotWhole := errors.AsType[*balances.IncompleteCheckpointError](err); isNotWhole == c.isWhole || c.isWhole && len(chain) != int(c.length) {
			t.Errorf("of %d checkpoints: %d, %v", c.length, len(chain), err)
		}
	}
}

// A reader of some accounts reads only the parts with these accounts, and the index rows above them. So it does not fail if
// other rows are missing.
func TestReaderReadsOnlyTheRowsOfItsAccounts(t *testing.T) {
	f := open(t)
	f.draft = balances.DraftCheckpointInShortRows
	f.MustSubmit(entriesOfNewPartners(0))
	f.setClock(1, 12)
	f.MustSubmit(deposit(1))
	checkpoints := f.makeCheckpoints(balances.Checkpoint{})
	query := balances.Query{Env: money.Prod, At: 1 << 62, Prefix: "L:partner:10"}
	want := f.trialInEveryWay(query)
	removed := 0
	for key, row := range f.checkpointRows() {
		if _, height, _, ok := store.ParseCheckpointRow([]byte(key)); ok && height == 0 && !hasAccountsWith(t, row, query.Prefix) {
			f.submitKVs(posting.KV{Org: org, Key: []byte(key)})
			removed++
		}
	}
	view := f.Journal.View()
	defer view.Close()
	var got listing
	err := new(balances.Reader).FromCheckpoint(view, org, query, 1000, got.add)
	if err != nil || !slices.Equal(got, want) || removed < 200 {
		t.Errorf("without %d of %d rows: %v, %d of %d accounts", removed, checkpoints[0].Rows, err, len(got), len(want))
	}
}

// hasAccountsWith tells whether a reader of the accounts with a prefix may have to read a part. It may if the part has such
// accounts, or if the part's first account comes before them.
func hasAccountsWith(t *testing.T, row, prefix string) (found bool) {
	t.Helper()
	var a ledger.Account
	for part := store.NewCheckpointPart([]byte(row)); ; {
		more, err := part.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return found
		}
		isFirst := a.Path == ""
		a, _ = store.ParseAccountKey(part.Key)
		found = found || strings.HasPrefix(string(a.Path), prefix) || isFirst && string(a.Path) < prefix
	}
}
