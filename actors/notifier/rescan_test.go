package notifier

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// countingLog is a log that counts its lines and passes each message to heard, if set.
type countingLog struct {
	n     atomic.Int64
	heard func(message string)
}

func (l *countingLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *countingLog) Handle(_ context.Context, r slog.Record) error {
	l.n.Add(1)
	if l.heard != nil {
		l.heard(r.Message)
	}
	return nil
}

func (l *countingLog) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *countingLog) WithGroup(string) slog.Handler      { return l }

// Rows of waiting deliveries that name a missing or unreadable delivery or a wrong time are skipped:
// the deliveries after them, and fresh ones, are delivered.
func TestUnreadableRowBlocksNothingElse(t *testing.T) {
	log := new(countingLog)
	f := newFixture(t, func(f *fixture) { f.RuntimeOptions.Log = slog.New(log) })
	receiver := receive(t, func(a *arrival) int { return map[bool]int{true: 500, false: 200}[a.nth == 1] })
	to := f.destinationOf(receiver)
	k := key{firstOrg, merchants, to}
	behindWrongRows := f.notifyOne(to)
	f.quiesce()
	dueAt := ledger.MicrosOf(startTime.Add(10 * time.Second))
	missing, damaged, other := ID{dueAt - 1, posting.Webhook}, ID{dueAt - 2, posting.Webhook}, ID{dueAt - 3, posting.Webhook}
	row, err := encodeKept(&Delivery{ID: other, To: to, State: Pending, Next: dueAt + 1, page: 1, Source: ledger.Source{Kind: ledger.Transaction}})
	if err != nil {
		t.Fatal(err)
	}
	f.plant(firstOrg, keyKept(damaged), []byte{0xff})
	f.plant(firstOrg, keyKept(other), row)
	for _, id := range []ID{missing, damaged, other} {
		f.plant(firstOrg, keyRetry(k, dueAt, id), []byte{})
	}
	f.plant(firstOrg, keyDue(k, dueAt+1), []byte{}) // without an id
	f.restart()                                     // the start finds them, and sets the timer
	f.advance(30 * time.Second)
	f.wantDelivery(behindWrongRows, Delivered, 2)
	fresh := f.notifyOne(to)
	f.advance(30 * time.Second)
	f.wantDelivery(fresh, Delivered, 2)
	if got := receiver.count(); got != 4 {
		t.Errorf("%d requests, want 4", got)
	}
	if got := log.n.Load(); got < 4 || got > 100 {
		t.Errorf("%d lines in the log, want a few for each look", got)
	}
}

// While a receiver is slow, its organization's delivery log panics again and again: after the first panic the
// receiver's notice is offered again at once, then after longer and longer waits.
func TestSearchAfterARepeatedPanicIsDelayed(t *testing.T) {
	f := newFixture(t)
	gate := newGate()
	r := receive(t, func(*arrival) int { gate.wait(); return 200 }, gate)
	id := f.notifyOne(f.destinationOf(r))
	waitFor(t, "under way", func() bool { return r.count() == 1 })
	f.panicInLog()
	waitFor(t, "offered again", func() bool { return f.inMemory.Load() == 2 })
	for range 60 {
		f.panicInLog()
	}
	if got := f.inMemory.Load(); got > 30 {
		t.Errorf("offered %d times after 61 panics", got)
	}
	gate.open()
	waitFor(t, "nothing waits in memory any more", func() bool { f.quiesce(); return f.inMemory.Load() == 0 })
	f.wantDelivery(id, Delivered, 1)
}

func TestDelayAfterPanicsGrowsAndIsReset(t *testing.T) {
	f := &panics{byDestination: make(map[key]*panicRecord)}
	a, b := key{org: firstOrg}, key{firstOrg, merchants, secondOrg}
	at := startTime
	wantDelay := func(what string, k key, times int, asked bool) {
		t.Helper()
		if n, was := f.add(k, at); n != times || was != asked {
			t.Errorf("%s: %d before it in a row, a search is asked for: %v; want %d, %v", what, n, was, times, asked)
		}
	}
	wantDelay("the first", a, 0, false)
	wantDelay("before its search has begun", a, 0, true)
	wantDelay("another destination's", b, 0, false)
	f.searchStarted(a)
	wantDelay("after it has begun", a, 1, false)
	f.searchStarted(a)
	at = at.Add(forgetPanic)
	wantDelay("the third, at the last moment", a, 2, false)
	f.searchStarted(a)
	f.searchStarted(b)
	at = at.Add(forgetPanic + 1)
	wantDelay("after a long time", a, 0, false)
	if len(f.byDestination) != 1 {
		t.Errorf("%d destinations are remembered, want the last", len(f.byDestination))
	}
}

// A destination whose rows cannot be read for a while reads them again without a move of the clock.
func TestDestinationReadsTheStoreAgainAfterAPanic(t *testing.T) {
	f := newFixture(t)
	r := receive(t, func(a *arrival) int { return map[bool]int{true: 500, false: 200}[a.nth == 1] })
	to := f.destinationOf(r)
	id := f.notifyOne(to)
	f.quiesce()
	if err := f.Clock.Set(startTime.Add(time.Minute)); err != nil { // no timer runs yet
		t.Fatal(err)
	}
	f.destinations.Tell(key{firstOrg, merchants, to}, "no message of ours")
	waitFor(t, "the notification arrives", func() bool { f.quiesce(); return f.delivery(id).State == Delivered })
}

// If the pool is full at start, the search for notices of earlier runs waits until it has room.
func TestNoticesOfEarlierRunsAreOfferedWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	receiver := receive(t, alwaysStatus(200))
	to := f.destinationOf(receiver)
	f.Service.Close()
	id := f.notifyOne(to)
	gate := newGate()
	f.beforeResume = func(f *fixture) {
		f.beforeResume = nil
		for f.Runtime.Go(gate.wait) == nil {
		}
	}
	f.restart()
	gate.open()
	waitFor(t, "the notification arrives", func() bool { return receiver.count() == 1 })
	f.quiesce()
	f.wantDelivery(id, Delivered, 1)
}

// At start a row of marks cannot be read; later it can be read again. The search for notices of earlier runs is
// repeated until then.
func TestFailedSearchForNoticesIsRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := receive(t, alwaysStatus(200))
	to := f.destinationOf(r)
	f.Service.Close()
	ids := []ID{f.notifyOne(to), f.notifyOne(to)}
	row := ids[1].append(keyMarks(ids[1].Booked))
	f.plant(firstOrg, row, []byte{0xff})
	f.restart()
	f.quiesce()
	f.plant(firstOrg, row, nil)
	waitFor(t, "the notification arrives", func() bool { return len(r.events()) == 2 })
	f.quiesce()
	for _, id := range ids {
		f.wantDelivery(id, Delivered, 1)
	}
}

// A Change of a delivery log is refused because of a claim that a caller put into it: the deliveries whose
// results were in the same Change are made again.
func TestResultsThatCouldNotBeWrittenAreDeliveredAgain(t *testing.T) {
	slow, disk := newGate(), newGate()
	log := &heldLog{reached: make(chan struct{}), gate: disk}
	f := newFixture(t, func(f *fixture) {
		f.JournalOptions.WrapLog = func(l posting.Log) posting.Log { log.Log = l; return log }
	})
	t.Cleanup(disk.open) // before the fixture is stopped
	receiver := receive(t, func(*arrival) int { slow.wait(); return 200 }, slow)
	claim := ledger.Claim{Org: firstOrg, Kind: ledger.ClaimIdempotency, Key: "k", Owner: []byte("o")}
	claims := func(_ *deliveryLog, d *draft, _ ledger.Micros) error {
		d.change.Claims = append(d.change.Claims, claim)
		d.put(firstOrg, []byte("z"), []byte{1})
		return nil
	}
	if err := f.writeLogAlone(firstOrg, claims); err != nil {
		t.Fatal(err)
	}
	id := f.notifyOne(f.destinationOf(receiver))
	waitFor(t, "under way", func() bool { return receiver.count() == 1 })
	log.nth.Store(log.groups.Load() + 1)
	before := &logCommand{done: make(chan error, 1), decide: func(_ *deliveryLog, d *draft, _ ledger.Micros) error {
		d.put(firstOrg, []byte("z"), []byte{2})
		return nil
	}}
	f.logs.Tell(firstOrg, before)
	receiveFrom(t, "being written", log.reached)
	slow.open()
	waitFor(t, "only the delivery log has work", func() bool { return f.Runtime.Live() == 1 })
	refusedCommand := &logCommand{done: make(chan error, 1), decide: claims}
	f.logs.Tell(firstOrg, refusedCommand)
	disk.open()
	if err := receiveFrom(t, "written", before.done); err != nil {
		t.Error(err)
	}
	wantCode(t, receiveFrom(t, "refused", refusedCommand.done), ledger.ClaimTaken)
	waitFor(t, "the repeated delivery is acknowledged", func() bool { f.quiesce(); return f.delivery(id).State == Delivered })
	if got := receiver.count(); got != 2 {
		t.Errorf("told %d times, want once more", got)
	}
}

// The observer of attempts panics, which does not affect the attempts. An attempt whose message
// could not be written is observed too.
func TestPanicOfTheObserverDoesNotAffectAttempts(t *testing.T) {
	var observed, failed atomic.Int64
	f := newFixture(t, func(f *fixture) {
		f.observe = func(_ posting.Channel, bad bool, _ time.Duration) {
			if observed.Add(1); bad {
				failed.Add(1)
			}
			panic("a fault of ours")
		}
	})
	r := receive(t, alwaysStatus(200))
	to := f.destinationOf(r)
	id := f.notifyOne(to)
	f.quiesce()
	f.wantDelivery(id, Delivered, 1)
	f.writeNotification = func([]byte, ledger.ID, *posting.Notice) (actors.NotificationBody, error) { panic("a fault of ours") }
	id = f.notifyOne(to)
	f.quiesce()
	f.wantDelivery(id, Pending, 1)
	if observed.Load() != 2 || failed.Load() != 1 {
		t.Errorf("%d attempts are observed and %d failures, want 2 and 1", observed.Load(), failed.Load())
	}
}

// A worker panics at an unexpected place: the notices that it had not tried are tried.
func TestPanicOfAWorkerReturnsTheUntriedBatch(t *testing.T) {
	var panicsNext atomic.Bool
	log := &countingLog{heard: func(string) {
		if panicsNext.Swap(false) {
			panic("a fault of the log")
		}
	}}
	f := newFixture(t, func(f *fixture) { f.RuntimeOptions.Log = slog.New(log) })
	r := receive(t, alwaysStatus(200))
	to := f.destinationOf(r)
	f.notifyOne(to)
	f.quiesce() // it answers, so its workers take many notices at a time
	var calls atomic.Int64
	f.writeNotification = func(dst []byte, org ledger.ID, n *posting.Notice) (actors.NotificationBody, error) {
		if calls.Add(1) == 3 {
			panicsNext.Store(true)
			panic("a fault of ours")
		}
		return writeBody(dst, org, n)
	}
	ids := f.notifyMany(to, 40)
	f.quiesce()
	if got := f.inMemory.Load(); got != 0 {
		t.Errorf("%d wait in memory", got)
	}
	failed := slices.DeleteFunc(slices.Clone(ids), func(id ID) bool { return f.delivery(id).State == Delivered })
	if len(failed) != 1 {
		t.Errorf("%d are not told, want the one that panicked", len(failed))
	}
	f.advance(30 * time.Second)
	for _, id := range ids {
		if d := f.delivery(id); d.State != Delivered {
			t.Fatalf("%v is %v", id, d.State)
		}
	}
}

// heldLog is a log that holds back one group.
type heldLog struct {
	posting.Log
	groups  atomic.Int64
	nth     atomic.Int64  // number of the group, from 1; 0: none
	reached chan struct{} // closed when the group has come
	gate    *gate         // the group continues when it is opened
}

func (l *heldLog) Apply(g *store.Group) error {
	if l.groups.Add(1) == l.nth.Load() {
		close(l.reached)
		l.gate.wait()
	}
	return l.Log.Apply(g)
}

// Notices that are being written to the store count as waiting in memory until they are durable.
func TestPostponedNoticesCountInMemoryUntilStored(t *testing.T) {
	gate, slow := newGate(), newGate()
	at := make(chan struct{})
	f := newFixture(t, func(f *fixture) {
		f.JournalOptions.WrapLog = func(l posting.Log) posting.Log {
			log := &heldLog{Log: l, reached: at, gate: gate}
			log.nth.Store(2)
			return log
		}
	})
	t.Cleanup(gate.open) // before the fixture is stopped
	f.limits.inMemory = 0
	r := receive(t, func(*arrival) int { slow.wait(); return 200 }, slow)
	ids := f.notify(firstOrg, posting.Webhook, slices.Repeat([]ledger.ID{f.destinationOf(r)}, 100)...)
	receiveFrom(t, "the write of their results has begun", at)
	if got := f.inMemory.Load(); got != 100 {
		t.Errorf("%d wait in memory, want all", got)
	}
	gate.open()
	waitFor(t, "all notices are in the store, except those in progress", func() bool { return f.inMemory.Load() <= 2 && r.count() == 1 })
	slow.open()
	f.quiesce()
	r.wantOnce(t, firstOrg, ids)
	if got := f.inMemory.Load(); got != 0 {
		t.Errorf("%d wait in memory", got)
	}
}

// At the bound no further notices are kept in memory, and a destination reads one delivery at a time
// from the store.
func TestNoticesBeyondTheMemoryBoundWaitInTheStore(t *testing.T) {
	const destinations, noticesEach, bound = 10, 50, 100
	f := newFixture(t)
	f.limits.inMemory = bound
	gate := newGate()
	r := receive(t, func(*arrival) int { gate.wait(); return 200 }, gate)
	var ids []ID
	for range destinations {
		ids = append(ids, f.notifyMany(f.destinationOf(r), noticesEach)...)
	}
	waitFor(t, "the other notices are in the store", func() bool {
		return len(f.rows(firstOrg, rowRetries)) >= destinations*noticesEach-bound && f.inMemory.Load() <= bound+3*destinations && r.count() == destinations
	})
	gate.open()
	f.quiesce()
	r.wantOnce(t, firstOrg, ids)
	if got := f.inMemory.Load(); got != 0 {
		t.Errorf("%d wait in memory", got)
	}
}

// Of many notices that wait for an unknown destination, only the first keep their records in memory. The other
// records are read again when their notices are delivered.
func TestDroppedRecordsOfWaitingNoticesAreReadAgain(t *testing.T) {
	f := newFixture(t)
	r := receive(t, alwaysStatus(200))
	var recordsGiven, recordsRead atomic.Int64
	f.writeNotification = func(dst []byte, org ledger.ID, n *posting.Notice) (actors.NotificationBody, error) {
		if n.About != nil {
			recordsGiven.Add(1)
		} else {
			recordsRead.Add(1)
		}
		return writeBody(dst, org, n)
	}
	to, c := f.destinationOf(r), new(posting.Change)
	for range 200 {
		c.Steps = append(c.Steps, posting.Step{
			Org: firstOrg, Source: ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, Record: []byte{1},
			Events:  []ledger.Event{{Name: "a", To: "b"}},
			Notices: []posting.Notice{{Channel: posting.Webhook, To: to, About: "its record"}},
		})
	}
	f.submit(c)
	f.quiesce()
	if recordsGiven.Load() != maxFailing || recordsRead.Load() != 200-maxFailing {
		t.Errorf("%d are written with their record at hand and %d without, want %d and the rest", recordsGiven.Load(), recordsRead.Load(), maxFailing)
	}
}
