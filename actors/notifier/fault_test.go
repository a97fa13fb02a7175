package notifier

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/ledger"
	"mizan/posting"
)

// A panic of a NotificationWriter fails one attempt. It affects neither the other notices of the same worker nor
// the retry.
func TestPanicOfANotificationWriterCostsAnAttempt(t *testing.T) {
	f := newFixture(t)
	receiver := startReceiver(t, alwaysStatus(200))
	to := f.destinationOf(receiver)
	f.notifyOne(to)
	f.quiesce() // the destination answers, so its workers take many notices at a time
	var calls atomic.Int64
	f.writeNotification = func(dst []byte, org ledger.ID, n *posting.Notice) (actors.NotificationBody, error) {
		if calls.Add(1) == 3 {
			panic("a fault of ours")
		}
		return writeBody(dst, org, n)
	}
	ids := f.notifyMany(to, 40)
	f.quiesce()
	failed := 0
	for _, id := range ids {
		if d := f.delivery(id); d.State == Pending {
			failed++
			f.wantDelivery(id, Pending, 1)
		}
	}
	if failed != 1 || f.inMemory.Load() != 0 {
		t.Errorf("%d deliveries wait for their retry and %d in memory, want the one that panicked", failed, f.inMemory.Load())
	}
	f.advance(30 * time.Second)
	receiver.wantOnce(t, firstOrg, append(ids, idOf(&posting.Notice{Booked: ids[0].Booked - 1, Channel: posting.Webhook})))
}

func TestNotificationWriterThatAlwaysPanicsParksTheDelivery(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(200))
	f.writeNotification = func([]byte, ledger.ID, *posting.Notice) (actors.NotificationBody, error) { panic("a fault of ours") }
	id := f.notifyOne(f.destinationOf(r))
	f.advance(24 * time.Hour)
	f.wantDelivery(id, Parked, MaxAttempts)
}

func TestPanicOfTheOperatorsSenderCostsAnAttempt(t *testing.T) {
	f := newFixture(t, func(f *fixture) {
		calls := 0
		f.notifyOperators = func(ledger.ID, ledger.ID, []byte, []byte) (Attempt, []byte, time.Duration) {
			if calls++; calls < 3 {
				panic("a fault of ours")
			}
			return Attempt{At: ledger.MicrosOf(f.Clock.Now())}, nil, 0
		}
	})
	id := f.notify(firstOrg, posting.OperatorAlert, uuid.New())[0]
	f.advance(24 * time.Hour)
	f.wantDelivery(id, Delivered, 3)
}

// panicInLog sends a delivery log a command that panics.
func (f *fixture) panicInLog() {
	f.t.Helper()
	if err := f.writeLog(firstOrg, func(*deliveryLog, *draft, ledger.Micros) error { panic("a fault of ours") }); err == nil {
		f.t.Error("a fault is no error")
	}
}

// A delivery log panics while deliveries are in progress. The deliveries end as they would have without the panic, at
// worst with a duplicate.
func TestPanicOfADeliveryLogLosesNothing(t *testing.T) {
	f := newFixture(t)
	gate := newGate()
	answering, failing := startReceiver(t, func(*arrival) int { gate.wait(); return 200 }, gate), startReceiver(t, alwaysStatus(500))
	to, toFailing := f.destinationOf(answering), f.destinationOf(failing)
	waitingIDs := f.notifyMany(toFailing, 5)
	f.quiesce()
	ids := f.notifyMany(to, 1_500) // some of them wait in the store
	waitFor(t, "under way", func() bool { return answering.count() > 0 })
	f.panicInLog()
	gate.open()
	for range 4 {
		f.panicInLog()
	}
	waitFor(t, "all notifications arrived, the last one after a delay", func() bool {
		f.quiesce()
		return !slices.ContainsFunc(ids, func(id ID) bool { return f.delivery(id).State != Delivered })
	})
	f.advance(24 * time.Hour)
	for _, id := range waitingIDs {
		f.wantDelivery(id, Parked, MaxAttempts)
	}
	if got := f.inMemory.Load(); got != 0 {
		t.Errorf("%d wait in memory", got)
	}
	if got := len(f.rows(firstOrg, rowRetries)); got != 0 {
		t.Errorf("%d wait in the store", got)
	}
}

// If a delivery log panics, the results that it has not written yet are written by a later Change, including
// those of deliveries that a destination had read from the store.
func TestStoredDeliveryIsTriedAfterAPanicOfItsDeliveryLog(t *testing.T) {
	f := newFixture(t)
	gate := newGate()
	r := startReceiver(t, func(a *arrival) int {
		if a.nth == 2 {
			gate.wait()
			return 500
		}
		return map[bool]int{true: 500, false: 200}[a.nth < 3]
	}, gate)
	id := f.notifyOne(f.destinationOf(r))
	f.quiesce()
	go func() { _ = f.Runtime.Advance(startTime.Add(30 * time.Second)) }()
	waitFor(t, "the retry is under way", func() bool { return r.count() == 2 })
	releaseLog := make(chan struct{})
	logBusy := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		result <- f.writeLog(firstOrg, func(l *deliveryLog, d *draft, _ ledger.Micros) error {
			close(logBusy)
			<-releaseLog
			d.put(firstOrg, []byte("z"), []byte{1})
			return nil
		})
	}()
	receiveFrom(t, "the delivery log is busy", logBusy)
	go func() {
		_ = f.writeLog(firstOrg, func(*deliveryLog, *draft, ledger.Micros) error { panic("a fault of ours") })
	}()
	gate.open() // the retry's result reaches the delivery log after the panic
	close(releaseLog)
	if err := receiveFrom(t, "written", result); err != nil {
		t.Error(err)
	}
	f.advance(24 * time.Hour)
	if d := f.delivery(id); d.State != Delivered {
		t.Errorf("it is %v after %d attempts", d.State, len(d.Attempts))
	}
}

// The notices that a destination has lost in a panic are offered again.
func TestPanicOfADestinationLosesNothing(t *testing.T) {
	f := newFixture(t)
	gate := newGate()
	r := startReceiver(t, func(*arrival) int { gate.wait(); return 200 }, gate)
	to := f.destinationOf(r)
	ids := f.notifyMany(to, 1_500)
	waitFor(t, "under way", func() bool { return r.count() > 0 })
	f.destinations.Tell(destinationKey{firstOrg, merchantClass, to}, "no message of ours")
	gate.open()
	f.quiesce()
	f.advance(time.Minute)
	for _, id := range ids {
		if d := f.delivery(id); d.State != Delivered {
			t.Fatalf("%v is %v", id, d.State)
		}
	}
	if got := f.inMemory.Load(); got != 0 {
		t.Errorf("%d wait in memory", got)
	}
}

// When a duplicate of a notice is acknowledged too, the acknowledgements of other notices stay.
func TestDuplicateAcknowledgementKeepsOtherMarks(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(200))
	to := f.destinationOf(r)
	ids := f.notifyMany(to, 10)
	f.quiesce()
	pageStart := f.delivery(ids[0]).pageStart
	for _, id := range ids { // each duplicate is written in a Change of its own
		n := posting.Notice{Channel: id.Channel, To: to, Booked: id.Booked, PageStart: pageStart, Source: f.delivery(id).Source}
		f.rescan(uuid.New(), nil) // after a rescan duplicates are possible
		f.quiesce()
		f.deliveryLogs.Tell(firstOrg, attemptsMade{[]attemptedNotice{{notice: n, report: report{Attempt: Attempt{At: id.Booked, Status: 200}}}}})
		f.quiesce()
	}
	for _, id := range ids {
		f.wantDelivery(id, Delivered, 1)
	}
}
