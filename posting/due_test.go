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
func (r *fixture) wake(s ledger.Source, version uint64, at ledger.Micros) {
	r.t.Helper()
	r.must(&posting.Change{Outcome: true, Steps: []posting.Step{{
		Org: org, Source: s, Expect: version, Record: []byte{1}, Due: at, Events: []ledger.Event{{Name: "wait", To: "waiting"}},
	}}})
}

func newSource() ledger.Source { return ledger.Source{Kind: ledger.Transaction, ID: uuid.New()} }

func (r *fixture) lookAhead() {
	r.t.Helper()
	if err := r.Due.LookAhead(r.clock.Now()); err != nil {
		r.t.Fatal(err)
	}
}

// taken returns the sources that are due by now.
func (r *fixture) taken() []ledger.Source {
	var sources []ledger.Source
	for _, item := range r.Due.Take(ledger.MicrosOf(r.clock.Now()), 1_000) {
		sources = append(sources, item.Source)
	}
	return sources
}

func (r *fixture) wantTaken(want ...ledger.Source) {
	r.t.Helper()
	got := r.taken()
	if len(got) != len(want) {
		r.t.Fatalf("%d are due, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			r.t.Errorf("due at place %d: %v, want %v", i, got[i].ID, want[i].ID)
		}
	}
}

func TestAClockThatLeapsLosesNothingThatFellDueMeanwhile(t *testing.T) {
	r := open(t)
	s := newSource()
	r.wake(s, 0, ledger.MicrosOf(start.Add(time.Hour)))
	r.restart()              // the sweep of the first group is not delayed
	r.forward(2 * time.Hour) // a suspended machine: no LookAhead so far
	r.must(deposit())        // sweeps
	r.must(deposit())
	r.lookAhead()
	r.wantTaken(s)
	r.restart()
	r.wantTaken(s)
}

func TestARecordThatWaitsForTheSameInstantAgainIsHandedOutOnce(t *testing.T) {
	r := open(t)
	s := newSource()
	at, later := ledger.MicrosOf(start)+1_000_000, ledger.MicrosOf(start)+2_000_000
	r.wake(s, 0, at)
	r.wake(s, 1, at)
	r.wake(s, 2, later)
	r.wake(s, 3, at)
	r.forward(time.Minute)
	r.wantTaken(s)
	r.wantTaken()
	// A record that was handed out and moves on may be due once more.
	r.wake(s, 4, at)
	r.wantTaken(s)
	r.wantTaken()
	r.Due.Return(posting.Item{At: at, Org: org, Source: s}) // it is due now, which is later
	r.wantTaken()
}

func TestAnItemGivenBackIsHandedOutAgainUnlessItsRecordMoved(t *testing.T) {
	r := open(t)
	s, moved := newSource(), newSource()
	at := ledger.MicrosOf(start) + 1_000_000
	r.wake(s, 0, at)
	r.wake(moved, 0, at+1)
	r.forward(time.Minute)
	items := r.Due.Take(ledger.MicrosOf(r.clock.Now()), 10)
	if len(items) != 2 {
		t.Fatalf("%d are due", len(items))
	}
	r.wake(moved, 1, 0)
	for range 2 {
		r.Due.Return(items[0])
		r.Due.Return(items[1])
	}
	r.wantTaken(s)
	r.wantTaken()
}

func TestWhatFallsDueBeyondTheWindowIsFoundWhenItsTimeComes(t *testing.T) {
	r := open(t)
	far, farther, gone := newSource(), newSource(), newSource()
	r.wake(far, 0, ledger.MicrosOf(start.Add(3*time.Hour)))
	r.wake(farther, 0, ledger.MicrosOf(start.Add(3*time.Hour))+1)
	r.wake(gone, 0, ledger.MicrosOf(start.Add(3*time.Hour)))
	r.wake(gone, 1, 0)
	for range 200 {
		r.forward(time.Minute)
		r.lookAhead()
		if r.clock.Now().Before(start.Add(3 * time.Hour)) {
			r.wantTaken()
			continue
		}
		break
	}
	r.wantTaken(far) // the clock stands at exactly that microsecond
	r.forward(time.Microsecond)
	r.wantTaken(farther)
}

func TestHoweverMuchFallsDueBeyondTheWindowAllOfItIsFound(t *testing.T) {
	d := gated()
	r := openOn(t, d)
	const n = 12_000
	var changes []*posting.Change
	for i := range n {
		c := note(uuid.New())
		c.Steps[0].Due = ledger.MicrosOf(start.Add(time.Hour)) + ledger.Micros(i)*500 // 2,000 per second
		changes = append(changes, &c)
	}
	for _, receipt := range r.together(d, changes) {
		if receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	r.forward(2 * time.Hour)
	r.lookAhead()
	items := r.Due.Take(ledger.MicrosOf(r.clock.Now()), 2*n)
	if len(items) != n {
		t.Fatalf("%d are due, want %d", len(items), n)
	}
	for i := range items {
		if items[i].Source != changes[i].Steps[0].Source {
			t.Fatalf("another is due at place %d", i)
		}
	}
}

func TestRowsOfPassedInstantsAreRemovedAndNoOthers(t *testing.T) {
	r := open(t)
	kept := newSource()
	r.wake(kept, 0, ledger.MicrosOf(start)+1)
	const n = posting.MaxSweep + 100
	for i := range n { // each in a row of its own
		s := newSource()
		r.wake(s, 0, ledger.MicrosOf(start.Add(time.Minute))+ledger.Micros(i%3)*1_000_000)
		r.wake(s, 1, 0)
	}
	r.forward(time.Hour)
	r.restart()
	r.lookAhead()
	r.wantTaken(kept)
	r.must(deposit())
	if rows := r.dueRows(); rows < n {
		t.Errorf("%d rows of due work are left with a record still waiting below them, want %d", rows, n)
	}
	r.wake(kept, 1, ledger.MicrosOf(start.Add(2*time.Hour)))
	r.restart() // the sweep of the first group is not delayed
	for range n/posting.MaxSweep + 2 {
		r.must(deposit()) // each removes some rows
	}
	if rows := r.dueRows(); rows != 1 {
		t.Errorf("%d rows of due work are left, want 1", rows)
	}
	r.forward(2 * time.Hour)
	r.restart()
	r.wantTaken(kept)
}

func (r *fixture) dueRows() int {
	r.t.Helper()
	v := r.View()
	defer v.Close()
	n := 0
	if _, err := v.DueItems(func(int64, posting.Item) { n++ }); err != nil {
		r.t.Fatal(err)
	}
	return n
}

func TestTheMarkDoesNotPassWhatAGroupUnderWayMakesDue(t *testing.T) {
	r := open(t)
	for range posting.MaxSweep + 10 { // each group sweeps while rows are left
		s := newSource()
		r.wake(s, 0, ledger.MicrosOf(start)+1)
		r.wake(s, 1, 0)
	}
	r.forward(time.Minute)
	arrived := make(chan struct{}, 16)
	gate := make(chan struct{})
	r.wrapLog = func(l posting.Log) posting.Log {
		return applied(func(g *store.Group) error {
			arrived <- struct{}{}
			<-gate
			return l.Apply(g)
		})
	}
	r.restart()
	r.lookAhead()
	waiting, done := newSource(), make(chan posting.Receipt, 2)
	answered := func(receipt posting.Receipt) { done <- receipt }
	c := note(waiting.ID)
	c.Steps[0].Due = ledger.MicrosOf(r.clock.Now()) + 1_000_000
	r.Submit(&c, answered)
	<-arrived // the group is under way, and has swept what it may
	r.forward(time.Minute)
	r.Submit(deposit(), answered)
	for r.QueueDepth() > 0 {
		runtime.Gosched() // until the orderer has it
	}
	close(gate)
	for range 2 {
		if receipt := <-done; receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	if rows := r.dueRows(); rows != 1 {
		t.Errorf("%d rows of due work are left, want 1: the second group has not swept", rows)
	}
	r.restart()
	r.wantTaken(waiting)
}

func TestMemoryOfDueWorkIsBoundedByWhatWaits(t *testing.T) {
	d := gated()
	r := openOn(t, d)
	var changes []*posting.Change
	for range 20_000 {
		c := note(uuid.New())
		c.Steps[0].Due = ledger.MicrosOf(start) + 500_000_000
		done := note(c.Steps[0].Source.ID)
		done.Outcome, done.Steps[0].Expect = true, 1
		changes = append(changes, &c, &done)
	}
	waiting := newSource()
	last := note(waiting.ID)
	last.Steps[0].Due = ledger.MicrosOf(start) + 550_000_000
	changes = append(changes, &last)
	for i := range changes {
		changes[i].Outcome = true // the queue accepts all outcomes
	}
	for _, receipt := range r.together(d, changes) {
		if receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	if n := r.Due.Items(); n > 10_000 || r.Due.Waiting() != 1 {
		t.Errorf("%d items for %d that wait", n, r.Due.Waiting())
	}
	r.forward(time.Hour)
	r.wantTaken(waiting)
}

// fickle is a clock that can go back, as the machine's clock can.
type fickle struct{ micros atomic.Int64 }

func (f *fickle) Now() time.Time { return time.UnixMicro(f.micros.Load()).UTC() }

func TestNothingFallsDueBelowTheMarkThoughTheClockGoesBack(t *testing.T) {
	dir, clock := t.TempDir(), new(fickle)
	clock.micros.Store(start.UnixMicro())
	reopen := func() *fixture {
		j, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)}, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		return &fixture{t: t, Journal: j, fatal: make(chan error)}
	}
	r := reopen()
	r.must(deposit()) // sweeps: the mark is at start
	wait := func() {
		// In an organization without events, whose booked times would reveal the time.
		r.must(&posting.Change{Steps: []posting.Step{{
			Org: uuid.New(), Source: newSource(), Record: []byte{1}, Due: 1, Events: []ledger.Event{{Name: "wait"}},
		}}})
	}
	again := func() {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = reopen()
	}
	clock.micros.Store(start.Add(-time.Minute).UnixMicro())
	wait()
	again()
	wait() // also if the clock went back over a restart
	again()
	defer func() { _ = r.Close() }()
	clock.micros.Store(start.Add(time.Minute).UnixMicro())
	if got := r.Due.Take(ledger.MicrosOf(clock.Now()), 10); len(got) != 2 {
		t.Errorf("%d are due, want 2", len(got))
	}
}
