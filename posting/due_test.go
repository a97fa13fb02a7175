package posting_test

import (
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// setDue submits a change that sets a record's due instant. With version 0 the change creates the record.
func (f *fixture) setDue(s ledger.Source, version uint64, at ledger.Micros) {
	f.t.Helper()
	f.must(&posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, Steps: []posting.Step{{
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

// takeSources takes all items that are due now, and returns their records' sources.
func (f *fixture) takeSources() []ledger.Source {
	var sources []ledger.Source
	for _, item := range f.Due.Take(ledger.MicrosOf(f.clock.Now()), 1_000) {
		sources = append(sources, item.Source)
	}
	return sources
}

// wantTaken takes all items that are due now, and compares their sources in order.
func (f *fixture) wantTaken(want ...ledger.Source) {
	f.t.Helper()
	got := f.takeSources()
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
	f.setDue(s, 0, ledger.MicrosOf(start.Add(time.Hour)))
	f.restart()              // the first group after a start removes passed due rows without delay
	f.forward(2 * time.Hour) // as if the machine had been suspended, so that LookAhead was not called meanwhile
	f.must(deposit())        // the change's group removes the due rows whose second has passed
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
	f.setDue(s, 0, at)
	f.setDue(s, 1, at)
	f.setDue(s, 2, later)
	f.setDue(s, 3, at)
	f.forward(time.Minute)
	f.wantTaken(s)
	f.wantTaken()
	// A record that was handed out becomes due again if it changes and sets the same instant.
	f.setDue(s, 4, at)
	f.wantTaken(s)
	f.wantTaken()
	f.Due.Return(posting.DueItem{At: at, Org: org, Source: s}) // no effect: the record was set due again, after at
	f.wantTaken()
}

func TestReturnedItemIsTakenAgainUnlessItsRecordMoved(t *testing.T) {
	f := open(t)
	s, movedSource := newSource(), newSource()
	at := ledger.MicrosOf(start) + 1_000_000
	f.setDue(s, 0, at)
	f.setDue(movedSource, 0, at+1)
	f.forward(time.Minute)
	items := f.Due.Take(ledger.MicrosOf(f.clock.Now()), 10)
	if len(items) != 2 {
		t.Fatalf("%d are due", len(items))
	}
	f.setDue(movedSource, 1, 0)
	for range 2 {
		f.Due.Return(items[0])
		f.Due.Return(items[1])
	}
	f.wantTaken(s)
	f.wantTaken()
}

func TestTimerBeyondTheWindowIsFoundInTime(t *testing.T) {
	f := open(t)
	far, farther, cancelled := newSource(), newSource(), newSource()
	f.setDue(far, 0, ledger.MicrosOf(start.Add(3*time.Hour)))
	f.setDue(farther, 0, ledger.MicrosOf(start.Add(3*time.Hour))+1)
	f.setDue(cancelled, 0, ledger.MicrosOf(start.Add(3*time.Hour)))
	f.setDue(cancelled, 1, 0)
	for range 200 {
		f.forward(time.Minute)
		f.lookAhead()
		if f.clock.Now().Before(start.Add(3 * time.Hour)) {
			f.wantTaken()
			continue
		}
		break
	}
	f.wantTaken(far) // this is exactly the due instant of far
	f.forward(time.Microsecond)
	f.wantTaken(farther)
}

func TestManyTimersBeyondTheWindowAreAllFound(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	const n = 12_000
	var changes []*posting.Change
	for i := range n {
		c := recordWithoutEntry(uuid.New())
		c.Steps[0].Due = ledger.MicrosOf(start.Add(time.Hour)) + ledger.Micros(i)*500 // 2,000 records become due in each second
		changes = append(changes, &c)
	}
	for _, receipt := range f.submitTogether(d, changes) {
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
			t.Fatalf("the wrong record is due at place %d", i)
		}
	}
}

func TestOnlyPassedDueRowsAreRemoved(t *testing.T) {
	f := open(t)
	waitingSource := newSource()
	f.setDue(waitingSource, 0, ledger.MicrosOf(start)+1)
	const n = posting.MaxDueRemovals + 100
	for i := range n { // each in a row of its own
		s := newSource()
		f.setDue(s, 0, ledger.MicrosOf(start.Add(time.Minute))+ledger.Micros(i%3)*1_000_000)
		f.setDue(s, 1, 0)
		f.Due.DropEmptied()
	}
	f.forward(time.Hour)
	f.restart()
	f.lookAhead()
	f.Due.DropEmptied()
	f.wantTaken(waitingSource)
	f.must(deposit())
	if rows := f.countDueRows(); rows < n {
		t.Errorf("%d due rows are left while a record with an earlier second still waits, want %d", rows, n)
	}
	f.setDue(waitingSource, 1, ledger.MicrosOf(start.Add(2*time.Hour)))
	f.restart() // the first group after a start removes passed due rows without delay
	f.Due.DropEmptied()
	for range n/posting.MaxDueRemovals + 2 {
		f.must(deposit()) // the group of each change removes some rows
	}
	if rows := f.countDueRows(); rows != 1 {
		t.Errorf("%d due rows are left, want 1", rows)
	}
	f.forward(2 * time.Hour)
	f.restart()
	f.wantTaken(waitingSource)
}

// countDueRows returns the number of items in due rows. In these tests each row has one item.
func (f *fixture) countDueRows() int {
	f.t.Helper()
	v := f.View()
	defer v.Close()
	count := 0
	if _, err := v.DueItems(func(int64, posting.DueItem) { count++ }); err != nil {
		f.t.Fatal(err)
	}
	return count
}

// A due row is removed when the last of its items is stale, even while the clock stands still.
func TestDueRowWithoutCurrentItemsIsRemoved(t *testing.T) {
	f := open(t)
	sources := []ledger.Source{newSource(), newSource()}
	c := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
	for _, s := range sources {
		c.Steps = append(c.Steps, posting.Step{Org: org, Source: s, Record: []byte{1}, Due: ledger.MicrosOf(start) + 5, Events: []ledger.Event{{Name: "wait", To: "waiting"}}})
	}
	f.must(c)
	f.wantDueItems(2)
	f.setDue(sources[0], 1, 0)
	f.must(deposit()) // the change's group removes the due rows that earlier groups have emptied
	f.wantDueItems(2)
	f.setDue(sources[1], 1, 0)
	f.must(deposit())
	f.wantDueItems(0)
}

// If a record gets the same due instant once more, only the newest of its due rows is kept.
func TestDueRowGoesWhenANewerOneHasItsItems(t *testing.T) {
	f := open(t)
	s, at := newSource(), ledger.MicrosOf(start)+5
	f.setDue(s, 0, at)
	f.setDue(s, 1, at)
	f.must(deposit())
	f.wantDueItems(1)
	f.forward(time.Minute)
	f.restart()
	f.must(deposit())
	f.wantDueItems(1)
	f.wantTaken(s)
	f.must(deposit())
	f.wantDueItems(1) // an item that was handed out stays due until its record gets another due instant
	f.setDue(s, 2, 0)
	f.must(deposit())
	f.wantDueItems(0)
}

// Items that become due after the window are not in memory. If all such items of a row are stale, the row is removed when the
// window reaches it. The same holds for a row that a killed process has left.
func TestStaleDueRowsOfTheStoreAreRemoved(t *testing.T) {
	f := open(t)
	far, near, kept := newSource(), newSource(), newSource()
	f.setDue(far, 0, ledger.MicrosOf(start.Add(time.Hour)))
	f.setDue(far, 1, 0)
	f.setDue(kept, 0, ledger.MicrosOf(start.Add(time.Hour)))
	f.setDue(near, 0, ledger.MicrosOf(start)+5)
	f.setDue(near, 1, 0)
	f.restart() // the restart comes before a group has removed the due row of near
	f.wantDueItems(3)
	f.must(deposit())
	f.wantDueItems(2)
	f.forward(time.Hour)
	f.lookAhead()
	f.must(deposit())
	f.wantDueItems(1)
	f.wantTaken(kept)
}

// In one group, one change may take the last current item out of a due row, before another change puts an item of another
// record into that row. The row must stay.
func TestDueRowThatIsEnteredAgainStays(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	first, second := recordWithoutEntry(uuid.New()), recordWithoutEntry(uuid.New())
	first.Steps[0].Due, second.Steps[0].Due = ledger.MicrosOf(start)+5, ledger.MicrosOf(start)+6
	cancelled := recordWithoutEntry(first.Steps[0].Source.ID)
	cancelled.MustRecord, cancelled.Steps[0].Expect = true, 1
	f.Submit(deposit(), func(posting.Receipt) {})
	for f.QueueDepth() > 0 {
		runtime.Gosched() // until its group waits at the blocked disk; the other changes then get into the next group together
	}
	for _, receipt := range f.submitTogether(d, []*posting.Change{&first, &cancelled, &second}) {
		if receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	if n, _ := f.LastGroup(); n != 2 {
		t.Fatalf("the changes are in %d groups", n)
	}
	f.must(deposit())
	f.forward(time.Minute)
	f.restart()
	f.wantTaken(second.Steps[0].Source)
}

func TestGroupRemovesABoundedNumberOfEmptiedDueRows(t *testing.T) {
	f := open(t)
	const n = posting.MaxDueRemovals + 100
	sources := make([]ledger.Source, n)
	for i := range sources { // each in a row of its own
		sources[i] = newSource()
		f.setDue(sources[i], 0, ledger.MicrosOf(start)+5)
	}
	for len(sources) > 0 {
		c := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
		k := min(len(sources), posting.MaxSteps)
		for _, s := range sources[:k] {
			c.Steps = append(c.Steps, posting.Step{Org: org, Source: s, Expect: 1, Record: []byte{1}, Events: []ledger.Event{{Name: "done"}}})
		}
		f.must(c)
		sources = sources[k:]
	}
	f.wantDueItems(n)
	f.must(deposit())
	f.wantDueItems(n - posting.MaxDueRemovals)
	f.must(deposit())
	f.wantDueItems(0)
}

// afterApply is a Log that calls a function once: when a group is durable and visible, but before Apply returns to the committer.
type afterApply struct {
	posting.Log
	call func()
}

func (l *afterApply) Apply(g *store.Group) error {
	err := l.Log.Apply(g)
	if call := l.call; call != nil && err == nil {
		l.call = nil
		call()
	}
	return err
}

// LookAhead may load the window while a group is visible whose due instants were not reported to DueQueue yet. The next group,
// which the orderer prepares meanwhile, must not remove the due rows of that group. A group that has only refusals has the
// same number as the following group; it must not count as the report of the following group.
func TestDueRowOfAGroupThatIsNotReportedStays(t *testing.T) {
	for name, before := range map[string]func(*fixture){
		"after a group with rows":   func(*fixture) {},
		"after a group of refusals": func(f *fixture) { f.refuse() },
	} {
		t.Run(name, func(t *testing.T) {
			l := new(afterApply)
			f := &fixture{t: t, dir: t.TempDir(), clock: newClock(), fatal: make(chan error, 1), memTable: smallMemTable}
			f.wrapLog = func(inner posting.Log) posting.Log { l.Log = inner; return l }
			f.reopen()
			t.Cleanup(func() { _ = f.Close() })
			f.OverlapAt(1)
			s := newSource()
			f.setDue(s, 0, ledger.MicrosOf(start.Add(5*time.Minute))) // inside the window
			f.forward(6 * time.Minute)
			before(f)
			receipts := make(chan posting.Receipt, 1)
			l.call = func() {
				f.lookAhead()
				f.Submit(deposit(), func(receipt posting.Receipt) { receipts <- receipt })
				for f.QueueDepth() > 0 {
					runtime.Gosched() // until the change is in the next group
				}
			}
			f.setDue(s, 1, ledger.MicrosOf(start.Add(12*time.Minute))) // after the end of the window at the start
			if receipt := <-receipts; receipt.Err != nil {
				t.Fatal(receipt.Err)
			}
			f.forward(7 * time.Minute)
			f.restart()
			f.lookAhead()
			f.wantTaken(s)
		})
	}
}

// refuse submits a change that is refused, in a group without other changes.
func (f *fixture) refuse() {
	f.t.Helper()
	c := recordWithoutEntry(uuid.New())
	c.Steps[0].Expect = 7 // there is no record with version 7
	if receipt := f.submit(&c); receipt.Err == nil {
		f.t.Fatal("the change was not refused")
	}
}

// After random changes of records and random restarts, every record that is due is found. At the end only the rows of such
// records are left.
func TestRemovedDueRowsAreNotMissed(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	f := open(t)
	sources := make([]ledger.Source, 12)
	for i := range sources {
		sources[i] = newSource()
	}
	versions, dues := make(map[ledger.Source]uint64), make(map[ledger.Source]ledger.Micros)
	for range 600 {
		s := sources[random.IntN(len(sources))]
		switch random.IntN(12) {
		case 0:
			f.restart()
		case 1:
			f.must(deposit())
		case 2:
			f.forward(time.Duration(random.IntN(3)) * 10 * time.Second)
			f.lookAhead()
		default:
			at := ledger.Micros(0)
			if random.IntN(3) > 0 {
				at = ledger.MicrosOf(f.clock.Now()) + ledger.Micros(random.IntN(3))*1_000_000 + ledger.Micros(random.IntN(2))
			}
			f.setDue(s, versions[s], at)
			versions[s]++
			dues[s] = at
		}
	}
	f.must(deposit())
	f.restart()
	f.must(deposit())
	f.must(deposit())
	waitingCount := 0
	for _, at := range dues {
		if at != 0 {
			waitingCount++
		}
	}
	f.wantDueItems(waitingCount)
	f.forward(time.Hour)
	f.restart()
	taken := f.takeSources()
	if len(taken) != waitingCount {
		t.Errorf("%d are due, want %d", len(taken), waitingCount)
	}
	for _, s := range taken {
		if dues[s] == 0 {
			t.Errorf("%v is due, and should not be", s.ID)
		}
	}
}

// wantDueItems compares the number of items in due rows.
func (f *fixture) wantDueItems(want int) {
	f.t.Helper()
	if got := f.countDueRows(); got != want {
		f.t.Errorf("due rows have %d items, want %d", got, want)
	}
}

func TestMarkStaysBelowTimersOfAnUnfinishedGroup(t *testing.T) {
	f := open(t)
	for range posting.MaxDueRemovals + 10 { // more passed rows than one group may remove; the next group removes the rest
		s := newSource()
		f.setDue(s, 0, ledger.MicrosOf(start)+1)
		f.setDue(s, 1, 0)
		f.Due.DropEmptied()
	}
	f.forward(time.Minute)
	arrived := make(chan struct{}, 16)
	gate := make(chan struct{})
	f.wrapLog = func(l posting.Log) posting.Log {
		return logFunc(func(g *store.Group) error {
			arrived <- struct{}{}
			<-gate
			return l.Apply(g)
		})
	}
	f.restart()
	f.OverlapAt(1)
	f.lookAhead()
	f.Due.DropEmptied()
	waitingSource, receipts := newSource(), make(chan posting.Receipt, 2)
	sendReceipt := func(receipt posting.Receipt) { receipts <- receipt }
	c := recordWithoutEntry(waitingSource.ID)
	c.Steps[0].Due = ledger.MicrosOf(f.clock.Now()) + 1_000_000
	f.Submit(&c, sendReceipt)
	<-arrived // the group waits at the disk; it has removed as many passed rows as it may
	f.forward(time.Minute)
	f.Submit(deposit(), sendReceipt)
	for f.QueueDepth() > 0 {
		runtime.Gosched() // until the orderer has taken the change
	}
	close(gate)
	for range 2 {
		if receipt := <-receipts; receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	if rows := f.countDueRows(); rows != 1 {
		t.Errorf("%d due rows are left, want 1: the second group has not removed the rest", rows)
	}
	f.restart()
	f.wantTaken(waitingSource)
}

func TestTimerMemoryIsBoundedByWaitingRecords(t *testing.T) {
	d := blockedDisk()
	f := openOn(t, d)
	var changes []*posting.Change
	for range 20_000 {
		c := recordWithoutEntry(uuid.New())
		c.Steps[0].Due = ledger.MicrosOf(start) + 500_000_000
		outcome := recordWithoutEntry(c.Steps[0].Source.ID)
		outcome.MustRecord, outcome.Steps[0].Expect = true, 1
		changes = append(changes, &c, &outcome)
	}
	waitingSource := newSource()
	lastChange := recordWithoutEntry(waitingSource.ID)
	lastChange.Steps[0].Due = ledger.MicrosOf(start) + 550_000_000
	changes = append(changes, &lastChange)
	for i := range changes {
		changes[i].MustRecord = true // so that none of them is refused because the queue is full
	}
	for _, receipt := range f.submitTogether(d, changes) {
		if receipt.Err != nil {
			t.Fatal(receipt.Err)
		}
	}
	if n := f.Due.ItemCount(); n > 10_000 || f.Due.WaitingCount() != 1 {
		t.Errorf("%d items in memory for %d waiting records", n, f.Due.WaitingCount())
	}
	f.forward(time.Hour)
	f.wantTaken(waitingSource)
}

// reversibleClock is a clock that can go back, as a machine's clock can.
type reversibleClock struct{ micros atomic.Int64 }

func (c *reversibleClock) Now() time.Time { return time.UnixMicro(c.micros.Load()).UTC() }

func TestNothingBecomesDueBelowTheMarkIfTheClockGoesBack(t *testing.T) {
	dir, clock := t.TempDir(), new(reversibleClock)
	clock.micros.Store(start.UnixMicro())
	reopen := func() *fixture {
		j, err := posting.Open(posting.Options{Store: store.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)}, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		return &fixture{t: t, Journal: j, fatal: make(chan error)}
	}
	f := reopen()
	f.must(deposit()) // the change's group removes passed due rows and moves the low-water mark to start
	addDueRecord := func() {
		// The new organization has no earlier event, so nothing but the clock determines the event's booked time.
		f.must(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
			Org: uuid.New(), Source: newSource(), Record: []byte{1}, Due: 1, Events: []ledger.Event{{Name: "wait"}},
		}}})
	}
	restart := func() {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		f = reopen()
	}
	clock.micros.Store(start.Add(-time.Minute).UnixMicro())
	addDueRecord()
	restart()
	addDueRecord() // now the clock went back between two starts
	restart()
	defer func() { _ = f.Close() }()
	clock.micros.Store(start.Add(time.Minute).UnixMicro())
	if got := f.Due.Take(ledger.MicrosOf(clock.Now()), 10); len(got) != 2 {
		t.Errorf("%d are due, want 2", len(got))
	}
}
