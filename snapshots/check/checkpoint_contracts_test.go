package check_test

import (
	"strings"
	"testing"

	contractactor "mizan/actors/contract"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// addMonths lets five months pass for the store's contracts. In each month so many other entries are booked
// that a checkpoint is due.
func (w *contractStore) addMonths(t *testing.T) {
	t.Helper()
	for range 5 {
		server := fixture.Start(t, &w.Store)
		contractactor.New(server.Runtime)
		w.at = w.at.AddDate(0, 1, 0)
		fixture.Must(t, server.Runtime.Advance(w.at))
		server.Close()
		var transfers []*posting.Change
		for n := range 300 {
			transfers = append(transfers, &posting.Change{Steps: []posting.Step{transferBetween(&w.Store, 1, n%10, 10+n%7)}})
		}
		fixture.SubmitTo(t, fixture.OpenJournal(t, &w.Store, clock.NewManual(w.at), nil), transfers...)
	}
	makeCheckpointAt(t, &w.Store, w.at)
}

// Checkpoints contain the accounts that belong to one contract like all other accounts. The checker reads the
// events a second time only if an account is wrong, to name the account.
func TestContractAccountsInCheckpointsAreCompared(t *testing.T) {
	w := copyContractStore(t, fixture.Paged)
	w.addMonths(t)
	report := w.Check(t, check.Inputs{})
	fixture.WantBroken(t, report)
	if report.Counts.Reread != 0 {
		t.Error("sound ones were read twice")
	}
	path := ledger.Path("")
	w.Corrupt(t, func(p *fixture.Corrupter) {
		heads, parts := checkpointRows(p, &w.Store)
		n := len(heads) - 2
		rewriteCheckpoint(p, heads[n], parts[n], func(key []byte, totals *ledger.Totals) bool {
			if a, _ := store.ParseAccountKey(key); path == "" && strings.HasPrefix(string(a.Path), "A:mudaraba:") {
				path, totals.DebitsPosted = a.Path, fixture.MustAdd(totals.DebitsPosted, 1)
			}
			return true
		})
	})
	if path == "" {
		t.Fatal("no contract has an account in a checkpoint")
	}
	report = w.Check(t, check.Inputs{})
	fixture.WantBroken(t, report, 2)
	wantSomewhere(t, report, "has other totals in part 0 than its events give: account "+string(path))
	if report.Counts.Reread != 1 {
		t.Errorf("%d organizations were read twice", report.Counts.Reread)
	}
}
