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
var september = period.Of(ledger.DateOf(start))

// dated returns a transfer that takes effect on a day, which its command names.
func dated(on ledger.Date) *posting.Change {
	c := transfer(ledger.Posted, line(available, ledger.Debit, 1), line("A:provider:x", ledger.Credit, 1))
	c.Steps[0].Events[0].Entry.Effective = on
	c.Dates = []posting.DateGuard{{Org: org, Field: "period_end_date", On: on}}
	return c
}

// closing closes a month with a trial balance of the events up to seen.
func closing(of ledger.ID, m period.Month, seen uint64, sum [32]byte) *posting.Change {
	r := &period.Record{Month: m, BalanceHash: sum, ClosedBy: period.ClosedBy{Login: "auditor"}}
	return &posting.Change{
		Close: &posting.Closing{Org: of, Month: m, Seen: seen},
		Steps: []posting.Step{{Org: of, Source: m.Source(), Record: period.AppendRecord(nil, r), Events: []ledger.Event{r.Event()}, Finish: true}},
	}
}

// balance returns the trial balance at a month's end, and the seq of its last event.
func (r *fixture) balance(m period.Month) (sum [32]byte, seen uint64) {
	r.t.Helper()
	v := r.View()
	defer v.Close()
	sum, _, err := balances.AtMonthEnd(v, org, m)
	if err != nil {
		r.t.Error(err)
	}
	if seen, _, err = v.Head(org); err != nil {
		r.t.Error(err)
	}
	return sum, seen
}

func (r *fixture) close(m period.Month) {
	r.t.Helper()
	sum, seen := r.balance(m)
	r.must(closing(org, m, seen, sum))
}

// october moves the clock to a month's first instants.
func (r *fixture) october() {
	r.t.Helper()
	if err := r.clock.Set(september.End().Time()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *fixture) effectiveOf(seq uint64) ledger.Date {
	r.t.Helper()
	v := r.View()
	defer v.Close()
	e, _, found, err := v.Event(org, seq)
	if err != nil || !found || e.Entry == nil {
		r.t.Fatalf("event %d: %+v, %v", seq, e, err)
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

// A closed month refuses a command's date in or before it. Later days, other organizations and
// other months accept it. This holds after a restart too.
func TestNoCommandCarriesADateInAClosedMonth(t *testing.T) {
	r := open(t)
	r.must(dated(september.Last()))
	r.october()
	r.must(dated(september.Last()))
	r.close(september)
	for _, again := range []bool{false, true} {
		if again {
			r.restart()
		}
		before := r.totals(available)
		for _, on := range []ledger.Date{september.Last(), september.First(), september.First() - 1, 1} {
			wantDateRefused(t, r.submit(dated(on)).Err, "period_end_date")
		}
		if after := r.totals(available); after != before {
			t.Errorf("a refusal has left %+v, before %+v", after, before)
		}
		r.must(dated(september.Last() + 1))
		other := dated(september.Last())
		other.Steps[0].Org, other.Dates[0].Org = uuid.New(), uuid.New()
		r.must(other)
	}
}

// An entry that would be dated in a closed month by itself is dated on the first open day.
func TestWhatWouldStillFallIntoAClosedMonthTakesTheFirstOpenDay(t *testing.T) {
	r := open(t)
	r.october()
	r.forward(40 * time.Hour) // it is the second of October
	r.close(september)
	sum, _ := r.balance(september)
	for _, c := range []struct {
		outcome bool
		on      ledger.Date
		want    ledger.Date
	}{
		{true, september.Last(), september.Last() + 1}, {true, 1, september.Last() + 1}, {false, september.First(), september.Last() + 1},
		{true, september.Last() + 1, september.Last() + 1}, {true, 0, september.Last() + 2}, {false, september.Last() + 9, september.Last() + 9},
	} {
		change := dated(c.on)
		change.Outcome = c.outcome
		if !c.outcome {
			change.Dates = nil
		}
		if got := r.effectiveOf(r.must(change).Stamps[0].LastSeq); got != c.want {
			t.Errorf("on %v it takes effect on %v, want %v", c.on, got, c.want)
		}
	}
	if now, _ := r.balance(september); now != sum {
		t.Error("the closed month's trial balance has changed")
	}
	r.wantEffective(september.Last()+1, ledger.Totals{DebitsPosted: amount(4)})
}

// An outcome is never refused, not even for a date.
func TestAnOutcomeIsNotRefusedForItsDate(t *testing.T) {
	r := open(t)
	r.october()
	r.close(september)
	c := dated(september.Last())
	c.Outcome = true
	if got := r.effectiveOf(r.must(c).Stamps[0].LastSeq); got != september.Last()+1 {
		t.Errorf("it takes effect on %v", got)
	}
}

func TestAMonthIsClosedOnce(t *testing.T) {
	r := open(t)
	r.october()
	r.close(september)
	for range 2 {
		for _, m := range []period.Month{september, september - 1} {
			sum, seen := r.balance(m)
			wantCode(t, r.submit(closing(org, m, seen, sum)).Err, ledger.Conflict)
		}
		r.restart()
	}
}

func TestAMonthIsNotClosedBeforeItHasEnded(t *testing.T) {
	r := open(t)
	if err := r.clock.Set(september.End().Time().Add(-time.Microsecond)); err != nil {
		t.Fatal(err)
	}
	sum, seen := r.balance(september)
	wantCode(t, r.submit(closing(org, september, seen, sum)).Err, ledger.Conflict)
	v := r.View()
	if last, err := v.Closed(org); last != 0 || err != nil {
		t.Errorf("%v is closed, %v", last, err)
	}
	v.Close()
	r.october()
	r.close(september)
}

// A closing depends on its trial balance: an entry dated into the month since then refuses it,
// and no other entry does.
func TestAClosingIsSentBackForWhatWasDatedIntoItsMonthMeanwhile(t *testing.T) {
	for _, c := range []struct {
		on    ledger.Date
		stale bool
	}{{0, false}, {september.Last() + 1, false}, {september.Last() + 40, false}, {september.Last(), true}, {september.First() - 30, true}} {
		r := open(t)
		r.must(dated(0))
		r.october()
		r.forward(48 * time.Hour)
		r.must(dated(0)) // the day has changed
		sum, seen := r.balance(september)
		r.must(dated(c.on))
		r.must(dated(0))
		err := r.submit(closing(org, september, seen, sum)).Err
		if c.stale != ledger.IsRefusal(err, ledger.StaleVersion) || !c.stale && err != nil {
			t.Errorf("after something on %v: %v", c.on, err)
		}
		if c.stale {
			r.close(september)
		}
	}
}

// An entry booked on the month's last day counts, even if its group became durable after the
// trial balance was read. So does an entry that is no longer cached, or is older than the start.
func TestAClosingIsSentBackForWhatItMayNotHaveSeen(t *testing.T) {
	for name, meanwhile := range map[string]func(r *fixture){
		"booked in the month": func(r *fixture) { r.must(dated(0)); r.october() },
		"booked on its last day": func(r *fixture) {
			r.forward(27 * 24 * time.Hour)
			r.must(dated(0))
			r.october()
		},
		"the day has turned": func(r *fixture) { r.must(dated(0)); r.october(); r.must(dated(0)) },
		"booked before a start": func(r *fixture) {
			r.must(dated(0))
			r.october()
			r.restart()
		},
		"one of many": func(r *fixture) {
			r.october()
			r.forward(48 * time.Hour)
			r.must(dated(0))
			r.must(dated(september.Last()))
			for range 300 {
				r.must(dated(september.Last() + 1))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t)
			r.must(dated(0))
			sum, seen := r.balance(september)
			meanwhile(r)
			wantCode(t, r.submit(closing(org, september, seen, sum)).Err, ledger.StaleVersion)
			r.close(september)
		})
	}
}

// Commands that date entries into an open month do not delay anyone, however many they are.
func TestWhatIsDatedIntoALaterMonthHoldsUpNoClosing(t *testing.T) {
	r := open(t)
	r.must(dated(0))
	r.october()
	r.forward(32 * 24 * time.Hour)
	r.must(dated(0)) // the day has changed
	sum, seen := r.balance(september)
	for range 300 {
		r.must(dated(september.Last() + 1))
	}
	if err := r.submit(closing(org, september, seen, sum)).Err; err != nil {
		t.Error(err)
	}
}

// A fence refuses commands that name a day in or before the month, and no others; it does not
// close the month.
func TestAMonthThatIsFencedTakesNoDatesOfCommands(t *testing.T) {
	r := open(t)
	r.october()
	down := r.Fence(org, september)
	wantCode(t, r.submit(dated(september.Last())).Err, ledger.Unavailable)
	wantCode(t, r.submit(dated(september.First()-40)).Err, ledger.Unavailable)
	r.must(dated(september.Last() + 1))
	undated := dated(september.Last()) // without a date in a command
	undated.Dates = nil
	r.must(undated)
	down()
	r.must(dated(september.Last()))
	down = r.Fence(org, september)
	r.close(september)
	down()
	wantCode(t, r.submit(dated(september.Last())).Err, ledger.Invalid)
}

// A closing and 64 commands with dates in the month arrive in any order: the hashed trial
// balance contains what was accepted, and the rest is refused.
func TestACommandAndTheClosingOfItsMonthComeInOneOrderOrTheOther(t *testing.T) {
	r := open(t)
	r.october()
	r.forward(48 * time.Hour)
	var all sync.WaitGroup
	refused := make(chan error, 64)
	for i := range 64 {
		all.Go(func() {
			for k := range 4 {
				c := dated(september.First() + ledger.Date((i+k)%30))
				done := make(chan posting.Receipt, 1)
				r.Submit(c, func(receipt posting.Receipt) { done <- receipt })
				if receipt := <-done; receipt.Err != nil {
					refused <- receipt.Err
					return
				}
			}
		})
	}
	var sum [32]byte
	var closed uint64
	for {
		var seen uint64
		sum, seen = r.balance(september)
		receipt := r.submit(closing(org, september, seen, sum))
		if receipt.Err == nil {
			closed = receipt.Stamps[0].LastSeq
			break
		}
		wantCode(t, receipt.Err, ledger.StaleVersion)
	}
	all.Wait()
	close(refused)
	for err := range refused {
		wantDateRefused(t, err, "period_end_date")
	}
	if now, _ := r.balance(september); now != sum {
		t.Error("the trial balance is not the one that was hashed")
	}
	v := r.View()
	defer v.Close()
	err := v.EventsAscending(org, closed, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry != nil && e.Entry.Effective <= september.Last() {
			t.Errorf("event %d takes effect on %v, and the month was closed at %d", e.Seq, e.Entry.Effective, closed)
		}
		return true, nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestClosedMonthsAreListedFromTheLastOn(t *testing.T) {
	r := open(t)
	if err := r.clock.Set((september + 3).End().Time()); err != nil {
		t.Fatal(err)
	}
	for m := september; m < september+3; m++ {
		r.close(m)
	}
	v := r.View()
	defer v.Close()
	list := func(before period.Month, most int) (said string) {
		err := v.Periods(org, before, func(p *period.Record) (bool, error) {
			said += fmt.Sprintf("%v by %s at %d; ", p.Month, p.ClosedBy.Login, p.Seq)
			return len(strings.Split(said, ";")) <= most, nil
		})
		if err != nil {
			t.Error(err)
		}
		return strings.TrimSpace(said)
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

// Overdue counts records with a due instant before the month's end, and contracts with one
// before now, because a contract's timer takes effect on its own day.
func TestWhatIsOverdueIsCounted(t *testing.T) {
	r := open(t)
	end := september.End()
	r.wake(newSource(), 0, end-1)
	r.wake(newSource(), 0, end)
	contract := ledger.Source{Kind: ledger.Contract, ID: uuid.New()}
	r.wake(contract, 0, end)
	moved := newSource()
	r.wake(moved, 0, end-2)
	r.wake(moved, 1, 0)
	r.october()
	r.lookAhead()
	for _, c := range []struct {
		of          ledger.ID
		before, now ledger.Micros
		want        int
	}{{org, end, end - 1, 1}, {org, end, end, 2}, {org, end - 1, end - 1, 0}, {org, end + 1, end + 1, 3}, {uuid.New(), end + 1, end + 1, 0}} {
		if got := r.Due.Overdue(c.of, c.before, c.now); got != c.want {
			t.Errorf("%d before %d, want %d", got, c.before-end, c.want)
		}
	}
	if taken := r.Due.Take(end, 9); len(taken) != 3 {
		t.Errorf("%d are taken", len(taken))
	}
	if got := r.Due.Overdue(org, end, end); got != 2 {
		t.Errorf("what was handed out and is not done is forgotten: %d", got)
	}
}

// Only a closing writes a month's record.
func TestAMonthsRecordComesWithItsClosing(t *testing.T) {
	r := open(t)
	r.october()
	for name, change := range map[string]func(*posting.Change){
		"no closing":             func(c *posting.Change) { c.Close = nil },
		"no record":              func(c *posting.Change) { c.Steps = nil },
		"another month's":        func(c *posting.Change) { c.Close.Month-- },
		"another organization's": func(c *posting.Change) { c.Close.Org = uuid.New() },
		"a second version":       func(c *posting.Change) { c.Steps[0].Expect = 1 },
		"an outcome":             func(c *posting.Change) { c.Outcome = true },
	} {
		c := closing(org, september, 0, [32]byte{})
		change(c)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it is taken", name)
				}
			}()
			r.Submit(c, func(posting.Receipt) {})
		}()
	}
}
