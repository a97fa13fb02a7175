package balances_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/balances"
	"mizan/posting/store"
)

// A missing or wrong checkpoint changes no result, and a rebuilt checkpoint equals the lost one. A checkpoint is stored
// as parts with accounts' totals, and a head that names the first account of each part.
func TestMissingCheckpointRowsOnlyCostTime(t *testing.T) {
	f := open(t)
	instants := history(f, random(t), 30)
	checkpoints := f.makeCheckpoints(balances.Checkpoint{})
	rows := f.checkpointRows()
	query := balances.AsOf{Env: money.Prod, At: instants[len(instants)-1]}
	want := f.trial(query)
	if len(want) < balances.FewAccounts {
		t.Fatalf("only %d accounts, which are read from their pages", len(want))
	}
	lastCheckpoint := checkpoints[len(checkpoints)-1]
	partKey, headKey := store.KeyCheckpointPart(lastCheckpoint.Seq, 0), store.KeyCheckpointHead(lastCheckpoint.Booked)
	partWithOtherFirstAccount := strings.Replace(rows[string(partKey)], "bank", "bang", 1)
	partWithOtherLaterAccount := strings.Replace(rows[string(partKey)], "fees", "feet", 1) // not the first account, which the head names too
	headWithOtherFirstAccount := strings.Replace(rows[string(headKey)], "bank", "bang", 1)
	if partWithOtherFirstAccount == rows[string(partKey)] || partWithOtherLaterAccount == rows[string(partKey)] {
		t.Fatal("nothing was changed")
	}
	for name, row := range map[string]posting.KV{
		"a part is missing":                    {Org: org, Key: partKey},
		"a part names another first account":   {Org: org, Key: partKey, Value: []byte(partWithOtherFirstAccount)},
		"a part names another later account":   {Org: org, Key: partKey, Value: []byte(partWithOtherLaterAccount)},
		"a part is cut short":                  {Org: org, Key: partKey, Value: []byte(rows[string(partKey)][:9])},
		"the head is missing":                  {Org: org, Key: headKey},
		"the head cannot be read":              {Org: org, Key: headKey, Value: []byte{9}},
		"the head names another first account": {Org: org, Key: headKey, Value: []byte(headWithOtherFirstAccount)},
	} {
		f.submitKVs(row)
		if got := f.trial(query); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
		f.submitKVs(posting.KV{Org: org, Key: row.Key, Value: []byte(rows[string(row.Key)])})
	}
	for key := range rows {
		f.submitKVs(posting.KV{Org: org, Key: []byte(key)})
	}
	if got := f.trial(query); !slices.Equal(got, want) {
		t.Errorf("without any checkpoint: %q", got)
	}
	f.makeCheckpoints(balances.Checkpoint{})
	if got := f.checkpointRows(); !maps.Equal(got, rows) {
		t.Errorf("%d rows were made again, not as the %d were", len(got), len(rows))
	}
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
	if len(checkpoints) != 1 || len(checkpoints[0].Parts) < 3 {
		t.Fatalf("made were %d checkpoints, %+v", len(checkpoints), checkpoints)
	}
	query := balances.AsOf{Env: money.Prod, At: 1 << 62}
	want := f.trialInEveryWay(query)
	if len(want) != 1+3*posting.MaxSteps {
		t.Errorf("there are %d accounts", len(want))
	}
	f.submitKVs(posting.KV{Org: org, Key: store.KeyCheckpointPart(checkpoints[0].Seq, 1), Value: []byte("?")})
	if got := f.trial(query); !slices.Equal(got, want) {
		t.Errorf("there are %d accounts, or with other totals, not %d", len(got), len(want))
	}
}

func TestMissingCheckpointPartIsDetected(t *testing.T) {
	f := open(t)
	history(f, rand.New(rand.NewPCG(1, 2)), 5)
	checkpoints := f.makeCheckpoints(balances.Checkpoint{})
	checkpoint := checkpoints[len(checkpoints)-1]
	hasAllParts := func() bool {
		view := f.Journal.View()
		defer view.Close()
		hasAll, err := balances.HasParts(view, org, &checkpoint)
		if err != nil {
			t.Fatal(err)
		}
		return hasAll
	}
	if !hasAllParts() {
		t.Error("it has no parts")
	}
	f.submitKVs(posting.KV{Org: org, Key: store.KeyCheckpointPart(checkpoint.Seq, 0)})
	if hasAllParts() {
		t.Error("it has all parts")
	}
	surplusKey := store.KeyCheckpointPart(checkpoint.Seq, 1)
	f.submitKVs(posting.KV{Org: org, Key: surplusKey, Value: []byte("?")})
	if hasAllParts() {
		t.Error("it has all parts with one that is none of them")
	}
	f.submitKVs(posting.KV{Org: org, Key: surplusKey})
	f.setClock(9, 12)
	for range 8 {
		f.MustSubmit(deposit(1))
	}
	f.setClock(10, 12)
	f.MustSubmit(deposit(1))
	view := f.Journal.View()
	defer view.Close()
	seq, due, err := balances.NextCheckpoint(view, org, &checkpoint)
	if err != nil || !due {
		t.Fatal(due, err)
	}
	if _, err := balances.DraftCheckpoint(view, org, &checkpoint, seq, func(posting.KV) error { return nil }); err != balances.ErrNotWhole {
		t.Errorf("the next one is drafted with %v", err)
	}
}
