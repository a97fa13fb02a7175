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

// A missing or wrong checkpoint changes no result, and a rebuilt checkpoint equals the lost one.
func TestMissingCheckpointRowsOnlyCostTime(t *testing.T) {
	f := open(t)
	instants := history(f, random(t), 30)
	checkpoints := f.makeCheckpoints(balances.Checkpoint{})
	rows := f.checkpointRows()
	q := balances.AsOf{Env: money.Prod, At: instants[len(instants)-1]}
	want := f.trial(q)
	if len(want) < balances.FewAccounts {
		t.Fatalf("only %d accounts, which are read from their pages", len(want))
	}
	last := checkpoints[len(checkpoints)-1]
	part, head := store.KeyCheckpointPart(last.Seq, 0), store.KeyCheckpointHead(last.Booked)
	otherFirst := strings.Replace(rows[string(part)], "bank", "bang", 1)
	otherSecond := strings.Replace(rows[string(part)], "fees", "feet", 1) // not the first account, which is in the head
	otherHead := strings.Replace(rows[string(head)], "bank", "bang", 1)
	if otherFirst == rows[string(part)] || otherSecond == rows[string(part)] {
		t.Fatal("nothing was changed")
	}
	for name, row := range map[string]posting.KV{
		"a part is missing":                    {Org: org, Key: part},
		"a part differs":                       {Org: org, Key: part, Value: []byte(otherFirst)},
		"a part names another account":         {Org: org, Key: part, Value: []byte(otherSecond)},
		"a part is cut short":                  {Org: org, Key: part, Value: []byte(rows[string(part)][:9])},
		"the head is missing":                  {Org: org, Key: head},
		"the head cannot be read":              {Org: org, Key: head, Value: []byte{9}},
		"the head names another first account": {Org: org, Key: head, Value: []byte(otherHead)},
	} {
		f.submitKVs(row)
		if got := f.trial(q); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
		f.submitKVs(posting.KV{Org: org, Key: row.Key, Value: []byte(rows[string(row.Key)])})
	}
	for key := range rows {
		f.submitKVs(posting.KV{Org: org, Key: []byte(key)})
	}
	if got := f.trial(q); !slices.Equal(got, want) {
		t.Errorf("without any checkpoint: %q", got)
	}
	f.makeCheckpoints(balances.Checkpoint{})
	if got := f.checkpointRows(); !maps.Equal(got, rows) {
		t.Errorf("%d rows were made again, not as the %d were", len(got), len(rows))
	}
}

// The accounts of a wrong part, and those after it, are read from their pages, each once.
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
	q := balances.AsOf{Env: money.Prod, At: 1 << 62}
	want := f.trialInEveryWay(q)
	if len(want) != 1+3*posting.MaxSteps {
		t.Errorf("there are %d accounts", len(want))
	}
	f.submitKVs(posting.KV{Org: org, Key: store.KeyCheckpointPart(checkpoints[0].Seq, 1), Value: []byte("?")})
	if got := f.trial(q); !slices.Equal(got, want) {
		t.Errorf("there are %d accounts, or with other totals, not %d", len(got), len(want))
	}
}

func TestMissingCheckpointPartIsDetected(t *testing.T) {
	f := open(t)
	history(f, rand.New(rand.NewPCG(1, 2)), 5)
	checkpoints := f.makeCheckpoints(balances.Checkpoint{})
	c := checkpoints[len(checkpoints)-1]
	hasAllParts := func() bool {
		v := f.Journal.View()
		defer v.Close()
		has, err := balances.HasParts(v, org, &c)
		if err != nil {
			t.Fatal(err)
		}
		return has
	}
	if !hasAllParts() {
		t.Error("it has no parts")
	}
	f.submitKVs(posting.KV{Org: org, Key: store.KeyCheckpointPart(c.Seq, 0)})
	if hasAllParts() {
		t.Error("it has all parts")
	}
	surplus := store.KeyCheckpointPart(c.Seq, 1)
	f.submitKVs(posting.KV{Org: org, Key: surplus, Value: []byte("?")})
	if hasAllParts() {
		t.Error("it has all parts with one that is none of them")
	}
	f.submitKVs(posting.KV{Org: org, Key: surplus})
	f.setClock(9, 12)
	for range 8 {
		f.MustSubmit(deposit(1))
	}
	f.setClock(10, 12)
	f.MustSubmit(deposit(1))
	v := f.Journal.View()
	defer v.Close()
	seq, due, err := balances.NextCheckpoint(v, org, &c)
	if err != nil || !due {
		t.Fatal(due, err)
	}
	if _, err := balances.DraftCheckpoint(v, org, &c, seq, func(posting.KV) error { return nil }); err != balances.ErrNotWhole {
		t.Errorf("the next one is drafted with %v", err)
	}
}
