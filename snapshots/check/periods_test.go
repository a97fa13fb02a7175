package check_test

import (
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/period"
	"mizan/posting"
	"mizan/posting/balances"
	"mizan/posting/store"
	"mizan/snapshots/check"
	"mizan/snapshots/fixture"
)

// monthClosing is the change that closes a month, and the record that the change will contain.
type monthClosing struct {
	change *posting.Change
	record *period.Record
}

// closeMonth closes a month of the contract store's first organization. change may alter the
// closing before the closing is written.
func (b *contractScenarios) closeMonth(m period.Month, change func(*monthClosing)) {
	b.t.Helper()
	org := b.sample.FirstDemo.Org
	view := b.journal.View()
	seen, _, err := view.Head(org)
	fixture.Must(b.t, err)
	r := &period.Record{Month: m, ClosedBy: period.ClosedBy{Login: "chief"}}
	r.BalanceHash, r.Rows, err = balances.MonthEndHash(view, org, m)
	fixture.Must(b.t, err)
	view.Close()
	c := &monthClosing{record: r, change: &posting.Change{
		Author: ledger.BySystem.Author(),
		Close:  &posting.Closing{Org: org, Month: m, SeenSeq: seen},
		Steps:  []posting.Step{{Org: org, Source: m.Source(), Events: []ledger.Event{r.Event()}, Finish: true}},
	}}
	if change != nil {
		change(c)
	}
	c.change.Steps[0].Record = period.AppendRecord(nil, c.record)
	b.submit(c.change)
}

// closeMonths closes the given number of months of the contract store, from the first month on. change may
// alter the last closing.
func (w *contractStore) closeMonths(t testing.TB, months period.Month, change func(*monthClosing)) {
	t.Helper()
	b := &contractScenarios{t, w, fixture.OpenJournal(t, &w.Store, clock.NewManual(w.at.AddDate(1, 0, 0)), nil)}
	firstMonth := period.MonthOf(ledger.DateOf(fixture.StartTime))
	for m := firstMonth; m < firstMonth+months; m++ {
		if m == firstMonth+months-1 {
			b.closeMonth(m, change)
		} else {
			b.closeMonth(m, nil)
		}
	}
	fixture.Must(t, b.journal.Close())
}

// A store with closed months breaks no rule. It has payments, holds, contracts in all states,
// and entries with earlier and later effective days, on pages and in page buffers.
func TestClosedMonthsAreRecomputed(t *testing.T) {
	for _, layout := range []int{fixture.Buffered, fixture.Paged} {
		w := copyContractStore(t, layout)
		key := actors.Key{Scope: actors.UserKeyScope, Text: "close", Hash: [32]byte{3}}
		w.closeMonths(t, 14, func(c *monthClosing) {
			c.change.Claims = []ledger.Claim{key.Claim(w.FirstDemo.Org, c.record.Month.Source(), nil)}
		})
		fixture.WantBroken(t, w.Check(t, check.Inputs{}))
	}
}

// The writer accepts these faulty closings of months; the checker finds the faults.
func TestFaultyClosingIsFound(t *testing.T) {
	firstMonth := period.MonthOf(ledger.DateOf(fixture.StartTime))
	for name, c := range map[string]struct {
		months      period.Month
		corrupt     func(*monthClosing)
		brokenRules []int
		wantText    string
	}{
		"an event with another hash": {2, func(c *monthClosing) {
			c.record.BalanceHash[0]++
			c.change.Steps[0].Events[0] = c.record.Event()
		}, []int{2}, "with another hash than that of its trial balance"},
		"a record with another hash": {2, func(c *monthClosing) { c.record.BalanceHash[0]++ }, []int{3}, "has another hash than its event"},
		"an event with another name": {1, func(c *monthClosing) { c.change.Steps[0].Events[0].Name = "shut" }, []int{3}, "no machine has the step"},
		"a second event": {1, func(c *monthClosing) {
			secondEvent := c.record.Event()
			secondEvent.From = secondEvent.To
			c.change.Steps[0].Events = append(c.change.Steps[0].Events, secondEvent)
		}, []int{3}, "has more than one event, or a timer"},
		"a timer": {1, func(c *monthClosing) { c.change.Steps[0].Due = ledger.MicrosOf(fixture.StartTime.AddDate(9, 0, 0)) }, []int{3}, "has more than one event, or a timer"},
	} {
		t.Run(name, func(t *testing.T) {
			w := copyContractStore(t, fixture.Buffered)
			w.closeMonths(t, c.months, c.corrupt)
			report := w.Check(t, check.Inputs{})
			fixture.WantBroken(t, report, c.brokenRules...)
			wantSomewhere(t, report, c.wantText)
		})
	}
	t.Run("a gap", func(t *testing.T) {
		w := copyContractStore(t, fixture.Buffered)
		b := &contractScenarios{t, w, fixture.OpenJournal(t, &w.Store, clock.NewManual(w.at.AddDate(1, 0, 0)), nil)}
		b.closeMonth(firstMonth, nil)
		b.closeMonth(firstMonth+2, nil)
		fixture.Must(t, b.journal.Close())
		report := w.Check(t, check.Inputs{})
		fixture.WantBroken(t, report, 3)
		wantSomewhere(t, report, "where "+(firstMonth+1).String()+" is to be closed")
	})
	t.Run("the second month first", func(t *testing.T) {
		w := copyContractStore(t, fixture.Buffered)
		b := &contractScenarios{t, w, fixture.OpenJournal(t, &w.Store, clock.NewManual(w.at.AddDate(1, 0, 0)), nil)}
		b.closeMonth(firstMonth+1, nil)
		fixture.Must(t, b.journal.Close())
		report := w.Check(t, check.Inputs{})
		fixture.WantBroken(t, report, 3)
		wantSomewhere(t, report, "where "+firstMonth.String()+" is to be closed")
	})
}

// The checker finds an entry that takes effect in a closed month. (The writer moves the effective day of such
// an entry, so the test changes the day afterwards.)
func TestEntryInAClosedMonthIsFound(t *testing.T) {
	firstMonth := period.MonthOf(ledger.DateOf(fixture.StartTime))
	w := &contractStore{Store: *fixture.Copy(t), at: fixture.StartTime} // a store whose journal fits into one group
	w.closeMonths(t, 1, nil)
	b := &contractScenarios{t, w, fixture.OpenJournal(t, &w.Store, clock.NewManual(w.at.AddDate(1, 0, 1)), nil)}
	eur := money.Asset{Currency: "EUR", Env: money.Prod}
	b.submit(&posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, Steps: []posting.Step{{
		Org: w.FirstDemo.Org, Source: ledger.Source{Kind: ledger.Transfer, ID: fixture.NewID()},
		Events: []ledger.Event{{Name: "transfer", To: "done", Entry: &ledger.Entry{Phase: ledger.Posted, Effective: firstMonth.LastDay(), Postings: []ledger.Posting{
			{Account: ledger.Bank, Asset: eur, Side: ledger.Debit, Amount: money.FromUint64(1)},
			{Account: ledger.FXPosition, Asset: eur, Side: ledger.Credit, Amount: money.FromUint64(1)},
		}}}},
	}}})
	fixture.Must(t, b.journal.Close())
	fixture.WantBroken(t, w.Check(t, check.Inputs{}))
	w.Corrupt(t, func(p *fixture.Corrupter) {
		p.ChangeJournal(w.FirstDemo.Org, -1, func(events []ledger.Event) []ledger.Event {
			for i := range events {
				if e := &events[i]; i == len(events)-1 {
					e.Entry.Effective = firstMonth.LastDay()
				}
			}
			return events
		})
	})
	wantSomewhere(t, w.Check(t, check.Inputs{}), "takes effect on "+firstMonth.LastDay().String()+", and "+firstMonth.String()+" was closed before")
}

func TestMonthClosedBeforeItsEndIsFound(t *testing.T) {
	w := &contractStore{Store: *fixture.Copy(t), at: fixture.StartTime}
	w.closeMonths(t, 1, nil)
	w.Corrupt(t, func(p *fixture.Corrupter) {
		p.ChangeJournal(w.FirstDemo.Org, -1, func(events []ledger.Event) []ledger.Event {
			events[len(events)-1].Booked = ledger.MicrosOf(fixture.StartTime.Add(time.Hour))
			return events
		})
	})
	wantSomewhere(t, w.Check(t, check.Inputs{}), "it closes a month that has not ended")
}

// The checker finds an idempotency key that names a month that was not closed.
func TestKeyOfANonexistentMonthIsFound(t *testing.T) {
	w := copyContractStore(t, fixture.Buffered)
	key := actors.Key{Scope: actors.UserKeyScope, Text: "close", Hash: [32]byte{3}}
	w.Corrupt(t, func(p *fixture.Corrupter) {
		claim := key.Claim(w.FirstDemo.Org, period.MonthOf(ledger.DateOf(fixture.StartTime)).Source(), nil)
		p.Group.Set(store.KeyClaim(nil, claim.Org, claim.Kind, claim.Key), claim.Owner)
	})
	report := w.Check(t, check.Inputs{})
	fixture.WantBroken(t, report, 4)
	wantSomewhere(t, report, "which does not exist")
}
