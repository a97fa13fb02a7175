package snapshots_test

import (
	"strings"
	"testing"

	acting "mizan/actors/contract"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots"
)

// goesOn has months pass over the fair's contracts, with so much booked besides that each
// ends with a checkpoint.
func (w *fair) goesOn(t *testing.T) {
	t.Helper()
	for range 5 {
		h := open(t, &w.town)
		acting.New(h.runtime)
		w.at = w.at.AddDate(0, 1, 0)
		must(t, h.runtime.Advance(w.at))
		h.close()
		var besides []*posting.Change
		for n := range 300 {
			besides = append(besides, &posting.Change{Steps: []posting.Step{between(&w.town, 1, n%10, 10+n%7)}})
		}
		submitTo(t, openJournal(t, &w.town, clock.NewManual(w.at), nil), besides...)
	}
	w.lookAt(t, w.at)
}

// Contracts' own accounts are in checkpoints as all others are, and one reading sees
// that they are as the events say. A wrong one is found, and named by a second reading.
func TestContractsOwnAccountsInCheckpointsAreCompared(t *testing.T) {
	w := settleFair(t, onPages)
	w.goesOn(t)
	report := w.check(t, snapshots.Inputs{})
	wantBroken(t, report)
	if report.Counts.Reread != 0 {
		t.Error("sound ones were read twice")
	}
	path := ledger.Path("")
	w.plant(t, func(p *planter) {
		heads, parts := checkpointRows(p, &w.town)
		n := len(heads) - 2
		p.rewritten(heads[n], parts[n], func(key []byte, totals *ledger.Totals) bool {
			if a, _ := store.ParseAccountKey(key); path == "" && strings.HasPrefix(string(a.Path), "A:mudaraba:") {
				path, totals.DebitsPosted = a.Path, mustAdd(totals.DebitsPosted, 1)
			}
			return true
		})
	})
	if path == "" {
		t.Fatal("no contract has an account in a checkpoint")
	}
	report = w.check(t, snapshots.Inputs{})
	wantBroken(t, report, 2)
	wantSomewhere(t, report, "has other totals in part 0 than its events give: account "+string(path))
	if report.Counts.Reread != 1 {
		t.Errorf("%d organizations were read twice", report.Counts.Reread)
	}
}
