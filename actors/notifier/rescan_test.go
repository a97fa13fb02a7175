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

// countingLog counts the lines of a log and passes each message to onMessage, if set.
type countingLog struct {
	lines     atomic.Int64
	onMessage func(message string)
}

func (l *countingLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *countingLog) Handle(_ context.Context, r slog.Record) error {
	l.lines.Add(1)
	if l.onMessage != nil {
		l.onMessage(r.Message)
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
	receiver := startReceiver(t, func(a *arrival) int { return map[bool]int{true: 500, false: 200}[a.nth == 1] })
	to := f.destinationOf(receiver)
	k := destinationKey{firstOrg, merchantClass, to}
	behindWrongRows := f.notifyOne(to)
	f.quiesce()
	dueAt := ledger.MicrosOf(startTime.Add(10 * time.Second))
	missing, damaged, wrongTime := ID{dueAt - 1, posting.Webhook}, ID{dueAt - 2, posting.Webhook}, ID{dueAt - 3, posting.Webhook}
	row, err := encodeDelivery(&Delivery{ID: wrongTime, To: to, State: Pending, Next: dueAt + 1, pageStart: 1, Source: ledger.Source{Kind: ledger.Transaction}})
	if err != nil {
		t.Fatal(err)
	}
	f.plant(firstOrg, keyDelivery(damaged), []byte{0xff})
	f.plant(firstOrg, keyDelivery(wrongTime), row)
	for _, id := range []ID{missing, damaged, wrongTime} {
		f.plant(firstOrg, keyRetry(k, dueAt, id), []byte{})
	}
	f.plant(firstOrg, keyDue(k, dueAt+1), []byte{}) // a row whose key lacks the delivery's id
	f.restart()                                     // the start finds these rows, and sets the timer
	f.advance(30 * time.Second)
	f.wantDelivery(behindWrongRows, Delivered, 2)
	freshID := f.notifyOne(to)
	f.advance(30 * time.Second)
	f.wantDelivery(freshID, Delivered, 2)
	if got := receiver.count(); got != 4 {
		t.Errorf("%d requests, want 4", got)
	}
	if got := log.lines.Load(); got < 4 || got > 100 {
		t.Errorf("%d lines in the log, want a few for each look", got)
	}
}

// While a receiver is slow, its organization's delivery log panics again and again: after the first panic the
// receiver's notice is offered again at once, then after longer and longer waits.
func TestSearchAfterARepeatedPanicIsDelayed(t *testing.T) {
	f := newFixture(t)
	gate := newGate()
	r := startReceiver(t, func(*arrival) int { gate.wait(); return 200 }, gate)
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
	counted := &panics{byDestination: make(map[destinationKey]*panicRecord)}
	wholeOrg, oneDestination := destinationKey{org: firstOrg}, destinationKey{firstOrg, merchantClass, secondOrg}
	at := startTime
	addAndWant := func(what string, k destinationKey, earlierPanics int, searchScheduled bool) {
		t.Helper()
		if n, scheduled := counted.add(k, at); n != earlierPanics || scheduled != searchScheduled {
			t.Errorf("%s: %d before it in a row, a search is asked for: %v; want %d, %v", what, n, scheduled, earlierPanics, searchScheduled)
		}
	}
	addAndWant("the first", wholeOrg, 0, false)
	addAndWant("before its search has begun", wholeOrg, 0, true)
	addAndWant("another destination's", oneDestination, 0, false)
	counted.searchStarted(wholeOrg)
	addAndWant("after it has begun", wholeOrg, 1, false)
	counted.searchStarted(wholeOrg)
	at = at.Add(forgetPanicAfter)
	addAndWant("the third, at the last moment", wholeOrg, 2, false)
	counted.searchStarted(wholeOrg)
	counted.searchStarted(oneDestination)
	at = at.Add(forgetPanicAfter + 1)
	addAndWant("after a long time", wholeOrg, 0, false)
	if len(counted.byDestination) != 1 {
		t.Errorf("%d destinations are remembered, want the last", len(counted.byDestination))
	}
}

// A destination that has panicked reads its due deliveries without a move of the clock.
func TestDestinationReadsTheStoreAgainAfterAPanic(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, func(a *arrival) int { return map[bool]int{true: 500, false: 200}[a.nth == 1] })
	to := f.destinationOf(r)
	id := f.notifyOne(to)
	f.quiesce()
	if err := f.Clock.Set(startTime.Add(time.Minute)); err != nil { // moves the clock without running timers
		t.Fatal(err)
	}
	f.destinations.Tell(destinationKey{firstOrg, merchantClass, to}, "no message of ours")
	waitFor(t, "the notification arrives", func() bool { f.quiesce(); return f.delivery(id).State == Delivered })
}

// If the pool is full at start, the search for notices of earlier runs waits until the pool has room.
func TestNoticesOfEarlierRunsAreOfferedWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	receiver := startReceiver(t, alwaysStatus(200))
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

// At start a row of acknowledgements cannot be read. The search for notices of earlier runs is repeated until the row can
// be read.
func TestFailedSearchForNoticesIsRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(200))
	to := f.destinationOf(r)
	f.Service.Close()
	ids := []ID{f.notifyOne(to), f.notifyOne(to)}
	row := ids[1].append(keyAcknowledgements(ids[1].Booked))
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

// The writer refuses a Change of a delivery log because of a claim (a unique key) that a caller put into it. The
// Change had results of deliveries too, so these deliveries are attempted again.
func TestResultsThatCouldNotBeWrittenAreDeliveredAgain(t *testing.T) {
	responseGate, diskGate := newGate(), newGate()
	log := &heldLog{groupArrived: make(chan struct{}), gate: diskGate}
	f := newFixture(t, func(f *fixture) {
		f.JournalOptions.WrapLog = func(l posting.Log) posting.Log { log.Log = l; return log }
	})
	t.Cleanup(diskGate.open) // the gate opens before the fixture is stopped
	receiver := startReceiver(t, func(*arrival) int { responseGate.wait(); return 200 }, responseGate)
	claim := ledger.Claim{Org: firstOrg, Kind: ledger.ClaimIdempotency, Key: "k", Owner: []byte("o")}
	addClaim := func(_ *deliveryLog, d *draft, _ ledger.Micros) error {
		d.change.Claims = append(d.change.Claims, claim)
		d.put(firstOrg, []byte("z"), []byte{1})
		return nil
	}
	if err := f.writeLogAlone(firstOrg, addClaim); err != nil {
		t.Fatal(err)
	}
	id := f.notifyOne(f.destinationOf(receiver))
	waitFor(t, "under way", func() bool { return receiver.count() == 1 })
	log.heldGroup.Store(log.groupCount.Load() + 1)
	earlierCommand := &logCommand{result: make(chan error, 1), decide: func(_ *deliveryLog, d *draft, _ ledger.Micros) error {
		d.put(firstOrg, []byte("z"), []byte{2})
		return nil
	}}
	f.deliveryLogs.Tell(firstOrg, earlierCommand)
	receiveFrom(t, "being written", log.groupArrived)
	responseGate.open()
	waitFor(t, "only the delivery log has work", func() bool { return f.Runtime.ActorsWithWork() == 1 })
	refusedCommand := &logCommand{result: make(chan error, 1), decide: addClaim}
	f.deliveryLogs.Tell(firstOrg, refusedCommand)
	diskGate.open()
	if err := receiveFrom(t, "written", earlierCommand.result); err != nil {
		t.Error(err)
	}
	wantCode(t, receiveFrom(t, "refused", refusedCommand.result), ledger.ClaimTaken)
	waitFor(t, "the repeated delivery is acknowledged", func() bool { f.quiesce(); return f.delivery(id).State == Delivered })
	if got := receiver.count(); got != 2 {
		t.Errorf("delivered %d times, want once more", got)
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
	r := startReceiver(t, alwaysStatus(200))
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

// A worker panics at an unexpected place: another worker tries the notices that were left.
func TestPanicOfAWorkerReturnsTheUntriedBatch(t *testing.T) {
	var panicsNext atomic.Bool
	log := &countingLog{onMessage: func(string) {
		if panicsNext.Swap(false) {
			panic("a fault of the log")
		}
	}}
	f := newFixture(t, func(f *fixture) { f.RuntimeOptions.Log = slog.New(log) })
	r := startReceiver(t, alwaysStatus(200))
	to := f.destinationOf(r)
	f.notifyOne(to)
	f.quiesce() // the destination answers, so its workers take many notices at a time
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
		t.Errorf("%d are not delivered, want the one that panicked", len(failed))
	}
	f.advance(30 * time.Second)
	for _, id := range ids {
		if d := f.delivery(id); d.State != Delivered {
			t.Fatalf("%v is %v", id, d.State)
		}
	}
}

// heldLog is a posting.Log that holds back one group of Changes.
type heldLog struct {
	posting.Log
	groupCount   atomic.Int64
	heldGroup    atomic.Int64  // number of the group that is held back, from 1; 0: none
	groupArrived chan struct{} // closed when that group has come
	gate         *gate         // the group is applied when the gate is opened
}

func (l *heldLog) Apply(g *store.Group) error {
	if l.groupCount.Add(1) == l.heldGroup.Load() {
		close(l.groupArrived)
		l.gate.wait()
	}
	return l.Log.Apply(g)
}

// Notices that are being written to the store count as waiting in memory until they are durable.
func TestPostponedNoticesCountInMemoryUntilStored(t *testing.T) {
	diskGate, responseGate := newGate(), newGate()
	groupArrived := make(chan struct{})
	f := newFixture(t, func(f *fixture) {
		f.JournalOptions.WrapLog = func(l posting.Log) posting.Log {
			log := &heldLog{Log: l, groupArrived: groupArrived, gate: diskGate}
			log.heldGroup.Store(2)
			return log
		}
	})
	t.Cleanup(diskGate.open) // the gate opens before the fixture is stopped
	f.limits.inMemory = 0
	r := startReceiver(t, func(*arrival) int { responseGate.wait(); return 200 }, responseGate)
	ids := f.notify(firstOrg, posting.Webhook, slices.Repeat([]ledger.ID{f.destinationOf(r)}, 100)...)
	receiveFrom(t, "the write of their results has begun", groupArrived)
	if got := f.inMemory.Load(); got != 100 {
		t.Errorf("%d wait in memory, want all", got)
	}
	diskGate.open()
	waitFor(t, "all notices are in the store, except those in progress", func() bool { return f.inMemory.Load() <= 2 && r.count() == 1 })
	responseGate.open()
	f.quiesce()
	r.wantOnce(t, firstOrg, ids)
	if got := f.inMemory.Load(); got != 0 {
		t.Errorf("%d wait in memory", got)
	}
}

// When the bound for notices in memory is reached, no further notices are kept in memory, and a destination reads one
// delivery at a time from the store.
func TestNoticesBeyondTheMemoryBoundWaitInTheStore(t *testing.T) {
	const destinations, noticesEach, bound = 10, 50, 100
	f := newFixture(t)
	f.limits.inMemory = bound
	gate := newGate()
	r := startReceiver(t, func(*arrival) int { gate.wait(); return 200 }, gate)
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

// Of many notices that wait for a destination without a result yet, only the first keep their records in memory. The other
// records are read again when their notices are delivered.
func TestDroppedRecordsOfWaitingNoticesAreReadAgain(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(200))
	var withRecord, withoutRecord atomic.Int64
	f.writeNotification = func(dst []byte, org ledger.ID, n *posting.Notice) (actors.NotificationBody, error) {
		if n.Subject != nil {
			withRecord.Add(1)
		} else {
			withoutRecord.Add(1)
		}
		return writeBody(dst, org, n)
	}
	to, c := f.destinationOf(r), &posting.Change{Author: ledger.BySystem.Author()}
	for range 200 {
		c.Steps = append(c.Steps, posting.Step{
			Org: firstOrg, Source: ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, Record: []byte{1},
			Events:  []ledger.Event{{Name: "a", To: "b"}},
			Notices: []posting.Notice{{Channel: posting.Webhook, To: to, Subject: "its record"}},
		})
	}
	f.submit(c)
	f.quiesce()
	if withRecord.Load() != maxWaitingFailing || withoutRecord.Load() != 200-maxWaitingFailing {
		t.Errorf("%d are written with their record at hand and %d without, want %d and the rest", withRecord.Load(), withoutRecord.Load(), maxWaitingFailing)
	}
}
