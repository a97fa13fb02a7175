package posting_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/period"
	"mizan/posting"
	"mizan/posting/balances"
)

// september is the month in which every fixture begins.
var september = period.MonthOf(ledger.DateOf(start))

// datedTransfer returns a transfer that takes effect on a day that a command has chosen.
func datedTransfer(day ledger.Date) *posting.Change {
	c := transfer(ledger.Posted, line(available, ledger.Debit, 1), line("A:provider:x", ledger.Credit, 1))
	c.Steps[0].Events[0].Entry.Effective = day
	c.Dates = []posting.DateGuard{{Org: org, Field: "period_end_date", On: day}}
	return c
}

// closing returns a change that closes a month whose trial balance has the given hash and covers the events up
// to the seq seen.
func closing(orgID ledger.ID, m period.Month, seen uint64, hash [32]byte) *posting.Change {
	r := &period.Record{Month: m, BalanceHash: hash, ClosedBy: period.ClosedBy{Login: "auditor"}}
	return &posting.Change{
		Author: ledger.BySystem.Author(),
		Close:  &posting.Closing{Org: orgID, Month: m, SeenSeq: seen},
		Steps:  []posting.Step{{Org: orgID, Source: m.Source(), Record: period.AppendRecord(nil, r), Events: []ledger.Event{r.Event()}, Finish: true}},
	}
}

// balanceHash returns the hash of the trial balance at a month's end, and the seq of the journal's last event.
func (f *fixture) balanceHash(m period.Month) (hash [32]byte, seen uint64) {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	hash, _, err := balances.MonthEndHash(v, org, m)
	if err != nil {
		f.t.Error(err)
	}
	if seen, _, err = v.Head(org); err != nil {
		f.t.Error(err)
	}
	return hash, seen
}

func (f *fixture) closeMonth(m period.Month) {
	f.t.Helper()
	hash, seen := f.balanceHash(m)
	f.must(closing(org, m, seen, hash))
}

// moveToOctober sets the clock to the first instant of October.
func (f *fixture) moveToOctober() {
	f.t.Helper()
	if err := f.clock.Set(september.End().Time()); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) effectiveOf(seq uint64) ledger.Date {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	e, _, found, err := v.Event(org, seq)
	if err != nil || !found || e.Entry == nil {
		f.t.Fatalf("event %d: %+v, %v", seq, e, err)
	}
	return e.Entry.Effective
}

func wantDateRefused(t *testing.T, err error, field string) {
	t.Helper()
	refusal, ok := err.(*ledger.Refusal)
	if !ok || refusal.Code != ledger.Invalid || refusal.Field != field {
		t.Errorf("%v, want %s refused", err, field)
	}
}

// A command is refused if its date is in a closed month or before it. Later dates, and dates of other organizations, are
// accepted. A restart changes nothing about this.
func TestCommandsWithADateInAClosedMonthAreRefused(t *testing.T) {
	f := open(t)
	f.must(datedTransfer(september.LastDay()))
	f.moveToOctober()
	f.must(datedTransfer(september.LastDay()))
	f.closeMonth(september)
	for _, restarted := range []bool{false, true} {
		if restarted {
			f.restart()
		}
		before := f.totals(available)
		for _, day := range []ledger.Date{september.LastDay(), september.FirstDay(), september.FirstDay() - 1, 1} {
			wantDateRefused(t, f.submit(datedTransfer(day)).Err, "period_end_date")
		}
		if after := f.totals(available); after != before {
			t.Errorf("a refusal has left %+v, before %+v", after, before)
		}
		f.must(datedTransfer(september.LastDay() + 1))
		otherOrgsTransfer := datedTransfer(september.LastDay())
		otherOrgsTransfer.Steps[0].Org, otherOrgsTransfer.Dates[0].Org = uuid.New(), uuid.New()
		f.must(otherOrgsTransfer)
	}
}

// An entry whose day is in a closed month takes effect on the first open day, if no command chose the day.
func TestEntryForAClosedMonthTakesTheFirstOpenDay(t *testing.T) {
	f := open(t)
	f.moveToOctober()
	f.forward(40 * time.Hour) // it is the second of October
	f.closeMonth(september)
	hash, _ := f.balanceHash(september)
	for _, c := range []struct {
		isOutcome bool
		day       ledger.Date
		want      ledger.Date
	}{
		{true, september.LastDay(), september.LastDay() + 1}, {true, 1, september.LastDay() + 1}, {false, september.FirstDay(), september.LastDay() + 1},
		{true, september.LastDay() + 1, september.LastDay() + 1}, {true, 0, september.LastDay() + 2}, {false, september.LastDay() + 9, september.LastDay() + 9},
	} {
		change := datedTransfer(c.day)
		change.MustRecord = c.isOutcome
		if !c.isOutcome {
			change.Dates = nil
		}
		if got := f.effectiveOf(f.must(change).Headers[0].LastSeq); got != c.want {
			t.Errorf("on %v it takes effect on %v, want %v", c.day, got, c.want)
		}
	}
	if hashNow, _ := f.balanceHash(september); hashNow != hash {
		t.Error("the closed month's trial balance has changed")
	}
	f.wantTotalsOn(september.LastDay()+1, ledger.Totals{DebitsPosted: amount(4)})
}

// An outcome (a change marked MustRecord) is never refused because of its date.
func TestOutcomeIsNotRefusedForItsDate(t *testing.T) {
	f := open(t)
	f.moveToOctober()
	f.closeMonth(september)
	c := datedTransfer(september.LastDay())
	c.MustRecord = true
	if got := f.effectiveOf(f.must(c).Headers[0].LastSeq); got != september.LastDay()+1 {
		t.Errorf("it takes effect on %v", got)
	}
}

func TestMonthIsClosedOnce(t *testing.T) {
	f := open(t)
	f.moveToOctober()
	f.closeMonth(september)
	for range 2 {
		for _, m := range []period.Month{september, september - 1} {
			hash, seen := f.balanceHash(m)
			wantCode(t, f.submit(closing(org, m, seen, hash)).Err, ledger.Conflict)
		}
		f.restart()
	}
}

func TestMonthIsNotClosedBeforeItsEnd(t *testing.T) {
	f := open(t)
	if err := f.clock.Set(september.End().Time().Add(-time.Microsecond)); err != nil {
		t.Fatal(err)
	}
	hash, seen := f.balanceHash(september)
	wantCode(t, f.submit(closing(org, september, seen, hash)).Err, ledger.Conflict)
	v := f.View()
	if last, err := v.LastClosedMonth(org); last != 0 || err != nil {
		t.Errorf("%v is closed, %v", last, err)
	}
	v.Close()
	f.moveToOctober()
	f.closeMonth(september)
}

// A closing is refused if an entry was dated into its month after the trial balance was read. Other entries
// don't matter.
func TestClosingIsRefusedAfterAnEntryDatedIntoItsMonth(t *testing.T) {
	for _, c := range []struct {
		day       ledger.Date
		wantStale bool
	}{{0, false}, {september.LastDay() + 1, false}, {september.LastDay() + 40, false}, {september.LastDay(), true}, {september.FirstDay() - 30, true}} {
		f := open(t)
		f.must(datedTransfer(0))
		f.moveToOctober()
		f.forward(48 * time.Hour)
		f.must(datedTransfer(0)) // the first entry that is booked on this day
		hash, seen := f.balanceHash(september)
		f.must(datedTransfer(c.day))
		f.must(datedTransfer(0))
		err := f.submit(closing(org, september, seen, hash)).Err
		if c.wantStale != ledger.IsRefusal(err, ledger.StaleVersion) || !c.wantStale && err != nil {
			t.Errorf("after an entry dated %v: %v", c.day, err)
		}
		if c.wantStale {
			f.closeMonth(september)
		}
	}
}

// A closing is refused if its trial balance may lack an entry that takes effect in the month. Such an entry may have been
// booked on the month's last day, in a group that became durable after the trial balance was read. Many entries may have been
// booked after it, or the journal may have been opened again since.
func TestClosingIsRefusedIfItMayHaveMissedEvents(t *testing.T) {
	for name, meanwhile := range map[string]func(f *fixture){
		"booked in the month": func(f *fixture) { f.must(datedTransfer(0)); f.moveToOctober() },
		"booked on the month's last day": func(f *fixture) {
			f.forward(27 * 24 * time.Hour)
			f.must(datedTransfer(0))
			f.moveToOctober()
		},
		"booked in the month, and another after it": func(f *fixture) { f.must(datedTransfer(0)); f.moveToOctober(); f.must(datedTransfer(0)) },
		"booked before a restart": func(f *fixture) {
			f.must(datedTransfer(0))
			f.moveToOctober()
			f.restart()
		},
		"dated into the month, and many others after it": func(f *fixture) {
			f.moveToOctober()
			f.forward(48 * time.Hour)
			f.must(datedTransfer(0))
			f.must(datedTransfer(september.LastDay()))
			for range 300 {
				f.must(datedTransfer(september.LastDay() + 1))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			f.must(datedTransfer(0))
			hash, seen := f.balanceHash(september)
			meanwhile(f)
			wantCode(t, f.submit(closing(org, september, seen, hash)).Err, ledger.StaleVersion)
			f.closeMonth(september)
		})
	}
}

// Commands that date entries into the next month do not delay a closing, however many they are.
func TestEntryDatedIntoALaterMonthDoesNotDelayAClosing(t *testing.T) {
	f := open(t)
	f.must(datedTransfer(0))
	f.moveToOctober()
	f.forward(32 * 24 * time.Hour)
	f.must(datedTransfer(0)) // the first entry that is booked on this day
	hash, seen := f.balanceHash(september)
	for range 300 {
		f.must(datedTransfer(september.LastDay() + 1))
	}
	if err := f.submit(closing(org, september, seen, hash)).Err; err != nil {
		t.Error(err)
	}
}

// While a month is being closed, a fence refuses commands that name a day in or before the month. It refuses no other
// changes, and does not close the month.
func TestFencedMonthRefusesDatesOfCommands(t *testing.T) {
	f := open(t)
	f.moveToOctober()
	removeFence := f.Fence(org, september)
	wantCode(t, f.submit(datedTransfer(september.LastDay())).Err, ledger.Unavailable)
	wantCode(t, f.submit(datedTransfer(september.FirstDay()-40)).Err, ledger.Unavailable)
	f.must(datedTransfer(september.LastDay() + 1))
	withoutGuard := datedTransfer(september.LastDay())
	withoutGuard.Dates = nil // a change whose date no command has chosen
	f.must(withoutGuard)
	removeFence()
	f.must(datedTransfer(september.LastDay()))
	removeFence = f.Fence(org, september)
	f.closeMonth(september)
	removeFence()
	wantCode(t, f.submit(datedTransfer(september.LastDay())).Err, ledger.Invalid)
}

// Commands with dates in a month arrive while the month is being closed. The trial balance whose hash is stored contains the
// entries of all accepted commands. The other commands are refused.
func TestCommandsAndTheClosingOfTheirMonthAreSerialized(t *testing.T) {
	f := open(t)
	f.moveToOctober()
	f.forward(48 * time.Hour)
	var callers sync.WaitGroup
	refused := make(chan error, 64)
	for i := range 64 {
		callers.Go(func() {
			for k := range 4 {
				c := datedTransfer(september.FirstDay() + ledger.Date((i+k)%30))
				done := make(chan posting.Receipt, 1)
				f.Submit(c, func(receipt posting.Receipt) { done <- receipt })
				if receipt := <-done; receipt.Err != nil {
					refused <- receipt.Err
					return
				}
			}
		})
	}
	var hash [32]byte
	var closingSeq uint64
	for {
		var seen uint64
		hash, seen = f.balanceHash(september)
		receipt := f.submit(closing(org, september, seen, hash))
		if receipt.Err == nil {
			closingSeq = receipt.Headers[0].LastSeq
			break
		}
		wantCode(t, receipt.Err, ledger.StaleVersion)
	}
	callers.Wait()
	close(refused)
	for err := range refused {
		wantDateRefused(t, err, "period_end_date")
	}
	if hashNow, _ := f.balanceHash(september); hashNow != hash {
		t.Error("the trial balance is not the one that was hashed")
	}
	v := f.View()
	defer v.Close()
	err := v.EventsAscending(org, closingSeq, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry != nil && e.Entry.Effective <= september.LastDay() {
			t.Errorf("event %d takes effect on %v, and the month was closed at %d", e.Seq, e.Entry.Effective, closingSeq)
		}
		return true, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestClosedMonthsAreListedLatestFirst(t *testing.T) {
	f := open(t)
	if err := f.clock.Set((september + 3).End().Time()); err != nil {
		t.Fatal(err)
	}
	for m := september; m < september+3; m++ {
		f.closeMonth(m)
	}
	v := f.View()
	defer v.Close()
	list := func(before period.Month, limit int) (text string) {
		err := v.Periods(org, before, func(p *period.Record) (bool, error) {
			text += fmt.Sprintf("%v by %s at %d; ", p.Month, p.ClosedBy.Login, p.Seq)
			return len(strings.Split(text, ";")) <= limit, nil
		})
		if err != nil {
			t.Error(err)
		}
		return strings.TrimSpace(text)
	}
	if got := list(0, 9); got != "2026-11 by auditor at 3; 2026-10 by auditor at 2; 2026-09 by auditor at 1;" {
		t.Error(got)
	}
	if got := list(september+2, 1); got != "2026-10 by auditor at 2;" {
		t.Error(got)
	}
	if got := list(september, 9); got != "" {
		t.Error(got)
	}
}

// Overdue counts records that are due before the month's end, and contracts that are due by now, because the
// entry of a contract's timer takes effect on the day on which the timer was due.
func TestOverdueCounts(t *testing.T) {
	f := open(t)
	end := september.End()
	f.setDue(newSource(), 0, end-1)
	f.setDue(newSource(), 0, end)
	contract := ledger.Source{Kind: ledger.Contract, ID: uuid.New()}
	f.setDue(contract, 0, end)
	noLongerDue := newSource()
	f.setDue(noLongerDue, 0, end-2)
	f.setDue(noLongerDue, 1, 0)
	f.moveToOctober()
	f.lookAhead()
	for _, c := range []struct {
		org         ledger.ID
		before, now ledger.Micros
		want        int
	}{{org, end, end - 1, 1}, {org, end, end, 2}, {org, end - 1, end - 1, 0}, {org, end + 1, end + 1, 3}, {uuid.New(), end + 1, end + 1, 0}} {
		if got := f.Due.Overdue(c.org, c.before, c.now); got != c.want {
			t.Errorf("%d before %d, want %d", got, c.before-end, c.want)
		}
	}
	if items := f.Due.Take(end, 9); len(items) != 3 {
		t.Errorf("%d are taken", len(items))
	}
	if got := f.Due.Overdue(org, end, end); got != 2 {
		t.Errorf("Overdue counts %d of the items that were handed out and are not done", got)
	}
}

// Only a change that closes a month can write the month's record.
func TestMonthRecordRequiresItsClosing(t *testing.T) {
	f := open(t)
	f.moveToOctober()
	for name, spoil := range map[string]func(*posting.Change){
		"no closing":                      func(c *posting.Change) { c.Close = nil },
		"no record":                       func(c *posting.Change) { c.Steps = nil },
		"closing of another month":        func(c *posting.Change) { c.Close.Month-- },
		"closing of another organization": func(c *posting.Change) { c.Close.Org = uuid.New() },
		"a second version":                func(c *posting.Change) { c.Steps[0].Expect = 1 },
		"an outcome":                      func(c *posting.Change) { c.MustRecord = true },
	} {
		c := closing(org, september, 0, [32]byte{})
		spoil(c)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it is accepted", name)
				}
			}()
			f.Submit(c, func(posting.Receipt) {})
		}()
	}
}
