package posting_test

import (
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// wake sets a record's due instant; the first call creates the record.
func (f *fixture) wake(s ledger.Source, version uint64, at ledger.Micros) {
	f.t.Helper()
	f.must(&posting.Change{MustRecord: true, Steps: []posting.Step{{
		Org: org, Source: s, Expect: version, Record: []byte{1}, Due: at, Events: []ledger.Event{{Name: "wait", To: "waiting"}},
	}}})
}

func newSource() ledger.Source { return ledger.Source{Kind: ledger.Transaction, ID: uuid.New()} }

func (f *fixture) lookAhead() {
	f.t.Helper()
	if err := f.Due.LookAhead(f.clock.Now()); err != nil {
		f.t.Fatal(err)
	}
}

// taken returns the sources that are due by now.
func (f *fixture) taken() []ledger.Source {
	var sources []ledger.Source
	for _, item := range f.Due.Take(ledger.MicrosOf(f.clock.Now()), 1_000) {
		sources = append(sources, item.Source)
	}
	return sources
}

func (f *fixture) wantTaken(want ...ledger.Source) {
	f.t.Helper()
	got := f.taken()
	if len(got) != len(want) {
		f.t.Fatalf("%d are due, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			f.t.Errorf("due at place %d: %v, want %v", i, got[i].ID, want[i].ID)
		}
	}
}

func TestClockJumpLosesNoTimers(t *testing.T) {
	f := open(t)
	s := newSource()
	f.wake(s, 0, ledger.MicrosOf(start.Add(time.Hour)))
	f.restart()              // the sweep of the first group is not delayed
	f.forward(2 * time.Hour) // a suspended machine: no LookAhead so far
	f.must(deposit())        // sweeps
	f.must(deposit())
	f.lookAhead()
	f.wantTaken(s)
	f.restart()
	f.wantTaken(s)
}

func TestTimerSetAgainForTheSameInstantIsTakenOnce(t *testing.T) {
	f := open(t)
	s := newSource()
	at, later := ledger.MicrosOf(start)+1_000_000, ledger.MicrosOf(start)+2_000_000
	f.wake(s, 0, at)
	f.wake(s, 1, at)
	f.wake(s, 2, later)
	f.wake(s, 3, at)
	f.forward(time.Minute)
	f.wantTaken(s)
	f.wantTaken()
	// A record that was handed out and moves on may be due once more.
	f.wake(s, 4, at)
	f.wantTaken(s)
	f.wantTaken()
	f.Due.Return(posting.Item{At: at, Org: org, Source: s}) // it is due now, which is later
	f.wantTaken()
}

func TestReturnedItemIsTakenAgainUnlessItsRecordMoved(t *testing.T) {
	f := open(t)
	s, moved := newSource(), newSource()
	at := ledger.MicrosOf(start) + 1_000_000
	f.wake(s, 0, at)
	f.wake(moved, 0, at+1)
	f.forward(time.Minute)
	items := f.Due.Take(ledger.MicrosOf(f.clock.Now()), 10)
	if len(items) != 2 {
		t.Fatalf("%d are due", len(items))
	}
	f.wake(moved, 1, 0)
	for range 2 {
		f.Due.Return(items[0])
		f.Due.Return(items[1])
	}
	f.wantTaken(s)
	f.wantTaken()
}

func TestTimerBeyondTheWindowIsFoundInTime(t *testing.T) {
	f := open(t)
	far, farther, gone := newSource(), newSource(), newSource()
	f.wake(far, 0, ledger.MicrosOf(start.Add(3*time.Hour)))
	f.wake(farther, 0, ledger.MicrosOf(start.Add(3*time.Hour))+1)
	f.wake(gone, 0, ledger.MicrosOf(start.Add(3*time.Hour)))
	f.wake(gone, 1, 0)
	for range 200 {
		f.forward(time.Minute)
		f.lookAhead()
		if f.clock.Now().Before(start.Add(3 * time.Hour)) {
			f.wantTaken()
			continue
		}
		break
	}
	f.wantTaken(far) // the clock stands at exactly that microsecond
	f.forward(time.Microsecond)
	f.wantTaken(farther)
}

func TestManyTimersBeyondTheWindowAreAllFound(t *testing.T) {
	d := gated()
	f := openOn(t, d)
	const n = 12_000
	var changes []*posting.Change
	for i := range n {
		c := note(uuid.New())
		c.Steps[0].Due = ledger.MicrosOf(start.Add(time.Hour)) + ledger.Micros(i)*500 // 2,000 per second
		changes = append(changes, &c)
	}
	for _, receipt := range f.together(d, changes) {
		if receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	f.forward(2 * time.Hour)
	f.lookAhead()
	items := f.Due.Take(ledger.MicrosOf(f.clock.Now()), 2*n)
	if len(items) != n {
		t.Fatalf("%d are due, want %d", len(items), n)
	}
	for i := range items {
		if items[i].Source != changes[i].Steps[0].Source {
			t.Fatalf("another is due at place %d", i)
		}
	}
}

func TestOnlyPassedDueRowsAreRemoved(t *testing.T) {
	f := open(t)
	kept := newSource()
	f.wake(kept, 0, ledger.MicrosOf(start)+1)
	const n = posting.MaxSweep + 100
	for i := range n { // each in a row of its own
		s := newSource()
		f.wake(s, 0, ledger.MicrosOf(start.Add(time.Minute))+ledger.Micros(i%3)*1_000_000)
		f.wake(s, 1, 0)
	}
	f.forward(time.Hour)
	f.restart()
	f.lookAhead()
	f.wantTaken(kept)
	f.must(deposit())
	if rows := f.dueRows(); rows < n {
		t.Errorf("%d rows of due work are left with a record still waiting below them, want %d", rows, n)
	}
	f.wake(kept, 1, ledger.MicrosOf(start.Add(2*time.Hour)))
	f.restart() // the sweep of the first group is not delayed
	for range n/posting.MaxSweep + 2 {
		f.must(deposit()) // each removes some rows
	}
	if rows := f.dueRows(); rows != 1 {
		t.Errorf("%d rows of due work are left, want 1", rows)
	}
	f.forward(2 * time.Hour)
	f.restart()
	f.wantTaken(kept)
}

func (f *fixture) dueRows() int {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	n := 0
	if _, err := v.DueItems(func(int64, posting.Item) { n++ }); err != nil {
		f.t.Fatal(err)
	}
	return n
}

func TestMarkStaysBelowTimersOfAnUnfinishedGroup(t *testing.T) {
	f := open(t)
	for range posting.MaxSweep + 10 { // each group sweeps while rows are left
		s := newSource()
		f.wake(s, 0, ledger.MicrosOf(start)+1)
		f.wake(s, 1, 0)
	}
	f.forward(time.Minute)
	arrived := make(chan struct{}, 16)
	gate := make(chan struct{})
	f.wrapLog = func(l posting.Log) posting.Log {
		return applied(func(g *store.Group) error {
			arrived <- struct{}{}
			<-gate
			return l.Apply(g)
		})
	}
	f.restart()
	f.lookAhead()
	waiter, done := newSource(), make(chan posting.Receipt, 2)
	answered := func(receipt posting.Receipt) { done <- receipt }
	c := note(waiter.ID)
	c.Steps[0].Due = ledger.MicrosOf(f.clock.Now()) + 1_000_000
	f.Submit(&c, answered)
	<-arrived // the group is under way, and has swept what it may
	f.forward(time.Minute)
	f.Submit(deposit(), answered)
	for f.QueueDepth() > 0 {
		runtime.Gosched() // until the orderer has it
	}
	close(gate)
	for range 2 {
		if receipt := <-done; receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	if rows := f.dueRows(); rows != 1 {
		t.Errorf("%d rows of due work are left, want 1: the second group has not swept", rows)
	}
	f.restart()
	f.wantTaken(waiter)
}

func TestTimerMemoryIsBoundedByWaitingRecords(t *testing.T) {
	d := gated()
	f := openOn(t, d)
	var changes []*posting.Change
	for range 20_000 {
		c := note(uuid.New())
		c.Steps[0].Due = ledger.MicrosOf(start) + 500_000_000
		done := note(c.Steps[0].Source.ID)
		done.MustRecord, done.Steps[0].Expect = true, 1
		changes = append(changes, &c, &done)
	}
	waiter := newSource()
	last := note(waiter.ID)
	last.Steps[0].Due = ledger.MicrosOf(start) + 550_000_000
	changes = append(changes, &last)
	for i := range changes {
		changes[i].MustRecord = true // the queue accepts all outcomes
	}
	for _, receipt := range f.together(d, changes) {
		if receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	if n := f.Due.Items(); n > 10_000 || f.Due.Waiting() != 1 {
		t.Errorf("%d items for %d that wait", n, f.Due.Waiting())
	}
	f.forward(time.Hour)
	f.wantTaken(waiter)
}

// fickle is a clock that can go back, as the machine's clock can.
type fickle struct{ micros atomic.Int64 }

func (f *fickle) Now() time.Time { return time.UnixMicro(f.micros.Load()).UTC() }

func TestNothingBecomesDueBelowTheMarkIfTheClockGoesBack(t *testing.T) {
	dir, clock := t.TempDir(), new(fickle)
	clock.micros.Store(start.UnixMicro())
	reopen := func() *fixture {
		j, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)}, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		return &fixture{t: t, Journal: j, fatal: make(chan error)}
	}
	f := reopen()
	f.must(deposit()) // sweeps: the mark is at start
	wait := func() {
		// In an organization without events, whose booked times would reveal the time.
		f.must(&posting.Change{Steps: []posting.Step{{
			Org: uuid.New(), Source: newSource(), Record: []byte{1}, Due: 1, Events: []ledger.Event{{Name: "wait"}},
		}}})
	}
	again := func() {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		f = reopen()
	}
	clock.micros.Store(start.Add(-time.Minute).UnixMicro())
	wait()
	again()
	wait() // also if the clock went back over a restart
	again()
	defer func() { _ = f.Close() }()
	clock.micros.Store(start.Add(time.Minute).UnixMicro())
	if got := f.Due.Take(ledger.MicrosOf(clock.Now()), 10); len(got) != 2 {
		t.Errorf("%d are due, want 2", len(got))
	}
}
