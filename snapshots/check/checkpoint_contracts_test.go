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

// letMonthsPass lets five months pass for the store's contracts. In each month so many other entries are booked
// that a checkpoint (all accounts with their totals after one event) is due.
func (w *contractStore) letMonthsPass(t *testing.T) {
	t.Helper()
	for range 5 {
		server := fixture.Start(t, &w.Store)
		contractactor.New(server.Runtime)
		w.at = w.at.AddDate(0, 1, 0)
		fixture.Must(t, server.Runtime.Advance(w.at))
		server.Close()
		var transfers []*posting.Change
		for n := range 300 {
			transfers = append(transfers, &posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{transferBetween(&w.Store, 1, n%10, 10+n%7)}})
		}
		fixture.SubmitTo(t, fixture.OpenJournal(t, &w.Store, clock.NewManual(w.at), nil), transfers...)
	}
	makeCheckpointAt(t, &w.Store, w.at)
}

// A checkpoint contains every account, also those that belong to a single contract. If an account in a checkpoint is wrong, the
// checker reads the events a second time, to name this account. If all are right, it reads the events only once.
func TestContractAccountsInCheckpointsAreCompared(t *testing.T) {
	w := copyContractStore(t, fixture.Paged)
	w.letMonthsPass(t)
	report := w.Check(t, check.Inputs{})
	fixture.WantBroken(t, report)
	if report.Counts.Reread != 0 {
		t.Error("the events of an organization with right checkpoints were read twice")
	}
	wrongPath := ledger.Path("")
	w.Corrupt(t, func(p *fixture.Corrupter) {
		heads, parts := checkpointRows(p, &w.Store)
		for i := len(heads) - 2; i >= 0 && wrongPath == ""; i-- {
			rewriteCheckpoint(p, heads[i], parts[i], func(key []byte, m *ledger.Movement) bool {
				if a, _ := store.ParseAccountKey(key); wrongPath == "" && strings.HasPrefix(string(a.Path), "A:mudaraba:") {
					wrongPath, m.DebitsPosted.Abs = a.Path, fixture.MustAdd(m.DebitsPosted.Abs, 1)
				}
				return true
			})
		}
	})
	if wrongPath == "" {
		t.Fatal("no contract has an account in a checkpoint")
	}
	report = w.Check(t, check.Inputs{})
	fixture.WantBroken(t, report, 2)
	wantSomewhere(t, report, "has other totals in part 0 than its events give: account "+string(wrongPath))
	if report.Counts.Reread != 1 {
		t.Errorf("%d organizations were read twice", report.Counts.Reread)
	}
}
