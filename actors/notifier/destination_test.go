package notifier

import (
	"slices"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/posting"
)

// A receiver that has not answered yet keeps one worker busy and a bounded number of notices in memory. The others wait in
// the store, and each is delivered once when the receiver answers.
func TestNoticesBeyondADestinationsRoomWaitInTheStore(t *testing.T) {
	f := newFixture(t)
	gate := newGate()
	receiver := startReceiver(t, func(*arrival) int { gate.wait(); return 200 }, gate)
	const n = 3_000
	ids := f.notifyMany(f.destinationOf(receiver), n)
	waitFor(t, "one attempt is in progress, and the other notices are in the store", func() bool {
		return receiver.count() == 1 && len(f.rows(firstOrg, rowRetries)) >= n-maxWaitingUnknown-1
	})
	const room = maxWaitingUnknown + 3 // three more: one is in progress, and two were read from the store
	if got := f.inMemory.Load(); got > room+maxEntries {
		t.Errorf("%d notices wait in memory, want at most %d and those of one change that is being written", got, room)
	}
	waitFor(t, "memory has no more notices than it has room for", func() bool { return f.inMemory.Load() <= room })
	gate.open()
	f.quiesce()
	receiver.wantOnce(t, firstOrg, ids)
	if receiver.maxUnanswered > lastWorkerLimit {
		t.Errorf("%d at once, want at most %d", receiver.maxUnanswered, lastWorkerLimit)
	}
	if got := f.inMemory.Load(); got != 0 {
		t.Errorf("%d notices wait in memory when all are delivered", got)
	}
	for _, id := range []ID{ids[0], ids[n/2], ids[n-1]} {
		f.wantDelivery(id, Delivered, 1)
	}
	if got := f.rows(firstOrg, rowRetries); len(got) != 0 {
		t.Errorf("%d deliveries still wait", len(got))
	}
}

// A destination that has answered keeps more notices in memory; when it fails, all but a few go to
// the store at once.
func TestDestinationThatStopsRespondingFreesMemory(t *testing.T) {
	f := newFixture(t)
	var failing sync.Map
	gate := newGate()
	receiver := startReceiver(t, func(*arrival) int {
		if _, ok := failing.Load("now"); ok {
			gate.wait()
			return 500
		}
		return 200
	}, gate)
	to := f.destinationOf(receiver)
	f.notifyOne(to)
	f.quiesce() // from now on the destination is known to answer
	failing.Store("now", true)
	const n = 2_000
	ids := f.notifyMany(to, n)
	waitFor(t, "all notices are in memory", func() bool { return f.inMemory.Load() == n })
	if got := f.rows(firstOrg, rowRetries); len(got) != 0 {
		t.Errorf("%d wait in the store while there is room in memory", len(got))
	}
	gate.open()
	f.quiesce()
	f.advance(0)
	for _, id := range []ID{ids[0], ids[n-1]} {
		f.wantDelivery(id, Pending, 1)
	}
	if got := f.inMemory.Load(); got != 0 {
		t.Errorf("%d notices wait in memory when each had its attempt", got)
	}
	if got := len(f.rows(firstOrg, rowRetries)); got != n {
		t.Errorf("%d wait in the store, want %d", got, n)
	}
	failing.Delete("now")
	f.advance(30 * time.Second)
	for event, times := range receiver.events() {
		if times > 2 {
			t.Errorf("event %s came %d times", event, times)
		}
	}
	if got := f.rows(firstOrg, rowRetries); len(got) != 0 {
		t.Errorf("%d deliveries still wait", len(got))
	}
}

func TestQuickDestinationHasAtMostSixteenWorkers(t *testing.T) {
	f := newFixture(t)
	gate := newGate()
	var blocked sync.Map
	receiver := startReceiver(t, func(*arrival) int {
		if _, ok := blocked.Load("now"); ok {
			gate.wait()
		}
		return 200
	}, gate)
	to := f.destinationOf(receiver)
	f.notifyOne(to)
	f.quiesce()
	blocked.Store("now", true)
	ids := f.notify(firstOrg, posting.Webhook, slices.Repeat([]ledger.ID{to}, 1_000)...)
	waitFor(t, "all workers are busy", func() bool {
		receiver.mu.Lock()
		defer receiver.mu.Unlock()
		return receiver.unanswered == lastWorkerLimit
	})
	gate.open()
	f.quiesce()
	if receiver.maxUnanswered != lastWorkerLimit {
		t.Errorf("%d at once, want %d", receiver.maxUnanswered, lastWorkerLimit)
	}
	if got := len(receiver.events()); got != len(ids)+1 {
		t.Errorf("%d events came, want %d", got, len(ids)+1)
	}
}

// The notifications of a hundred destinations hang after a failure. The other destinations get all of their
// notifications meanwhile. The test counts notifications instead of measuring time.
func TestHangingDestinationsDoNotDelayOthers(t *testing.T) {
	const hangingCount, goodCount, noticesEach = 100, 50, 20
	f := newFixture(t, onRealClock)
	hanging := startReceiver(t, func(a *arrival) int {
		if a.nthOfAll <= hangingCount {
			return 500
		}
		return noResponse
	})
	answering := startReceiver(t, alwaysStatus(200))
	var hangingDestinations, goodDestinations []ledger.ID
	for range hangingCount {
		hangingDestinations = append(hangingDestinations, f.destinationOf(hanging))
	}
	for range goodCount {
		goodDestinations = append(goodDestinations, f.destinationOf(answering))
	}
	f.notify(firstOrg, posting.Webhook, hangingDestinations...)
	f.quiesce()
	for range firstWorkerLimit + 3 {
		f.notify(firstOrg, posting.Webhook, hangingDestinations...)
	}
	waitFor(t, "all attempts hang", func() bool { return hanging.count() == hangingCount*(1+firstWorkerLimit) })
	var ids []ID
	for range noticesEach {
		ids = append(ids, f.notify(firstOrg, posting.Webhook, goodDestinations...)...)
	}
	waitFor(t, "the other destinations have all their notifications", func() bool { return len(answering.events()) == len(ids) })
	answering.wantOnce(t, firstOrg, ids)
}

// Many notices to many destinations at once, on the machine's clock.
func TestWithoutFaultsEverythingIsDeliveredOnce(t *testing.T) {
	f := newFixture(t, onRealClock)
	random := testseed.Random(t)
	receiver := startReceiver(t, alwaysStatus(200))
	var to []ledger.ID
	for range 30 {
		to = append(to, f.destinationOf(receiver))
	}
	var mu sync.Mutex
	var ids []ID
	var submitters sync.WaitGroup
	for range 4 {
		batches := make([]int, 50)
		for i := range batches {
			batches[i] = 1 + random.IntN(len(to))
		}
		submitters.Go(func() {
			for _, n := range batches {
				booked := f.notify(firstOrg, posting.Webhook, to[:n]...)
				mu.Lock()
				ids = append(ids, booked...)
				mu.Unlock()
			}
		})
	}
	mustReturn(t, "booked", submitters.Wait)
	f.quiesce()
	receiver.wantOnce(t, firstOrg, ids)
	for _, id := range ids[:50] {
		f.wantDelivery(id, Delivered, 1)
	}
	f.restart()
	f.quiesce()
	receiver.wantOnce(t, firstOrg, ids)
}

// All attempts fail, so that the number of workers does not grow: due deliveries are tried strictly in the order
// of their due times, four at a time.
func TestEarliestDueDeliveryIsTriedFirst(t *testing.T) {
	f := newFixture(t)
	random := testseed.Random(t)
	dead := startReceiver(t, alwaysStatus(500))
	to := f.destinationOf(dead)
	var wantOrder []string
	for range 300 {
		wantOrder = append(wantOrder, EventID(firstOrg, f.notifyOne(to)).String())
		f.quiesce() // the first attempt is made at this time
		f.advance(time.Duration(1+random.IntN(90)) * time.Millisecond)
	}
	gate := newGate()
	receiver := startReceiver(t, func(*arrival) int { gate.wait(); return 500 }, gate)
	f.addresses.set(to, actors.Address{URL: receiver.URL})
	f.stop() // all deliveries become due while the service is down
	if err := f.Clock.Set(f.Clock.Now().Add(31 * time.Second)); err != nil {
		t.Fatal(err)
	}
	f.start()
	for n := range wantOrder {
		unanswered := firstWorkerLimit
		if n == 0 {
			unanswered = 1 // a destination without a result has one worker
		}
		waitFor(t, "the next attempts arrive", func() bool { return receiver.count() == min(n+unanswered, len(wantOrder)) })
		gate.releaseOne(t)
	}
	f.quiesce()
	var got []string
	for _, a := range receiver.got() {
		got = append(got, a.EventID)
	}
	// Four workers begin together, so their requests may arrive in any order.
	for n := range got {
		if !slices.Contains(wantOrder[max(0, n-firstWorkerLimit):min(n+firstWorkerLimit, len(wantOrder))], got[n]) {
			t.Fatalf("arrival %d is none of those that are due around it", n)
		}
	}
	if len(got) != len(wantOrder) || len(receiver.events()) != len(wantOrder) {
		t.Errorf("%d arrivals of %d events, want %d", len(got), len(receiver.events()), len(wantOrder))
	}
}

// Fresh notices and due notices take turns, so that neither kind waits until all notices of the other kind were tried.
func TestFreshNoticesDoNotWaitForDueOnes(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(500))
	to := f.destinationOf(r)
	dueIDs := f.notifyMany(to, 300) // these deliveries are due again after their first attempt fails
	f.quiesce()
	requestsBefore := r.count()
	if err := f.Clock.Set(f.Clock.Now().Add(time.Minute)); err != nil { // moves the clock without running timers
		t.Fatal(err)
	}
	gate := newGate()
	gatedReceiver := startReceiver(t, func(*arrival) int { gate.wait(); return 500 }, gate)
	f.addresses.set(to, actors.Address{URL: gatedReceiver.URL})
	go func() { _ = f.Runtime.Advance(f.Clock.Now()) }()
	waitFor(t, "attempts of due notices are in progress", func() bool { return gatedReceiver.count() == firstWorkerLimit })
	freshIDs := f.notifyMany(to, 20)
	var events []string
	for _, id := range freshIDs {
		events = append(events, EventID(firstOrg, id).String())
	}
	waitFor(t, "the fresh notices are in memory", func() bool { return f.inMemory.Load() >= int64(len(freshIDs)) })
	freshTried := 0
	for freshTried < len(freshIDs) {
		countBefore := gatedReceiver.count()
		gate.releaseOne(t)
		waitFor(t, "another attempt arrives", func() bool { return gatedReceiver.count() > countBefore })
		freshTried = 0
		for _, a := range gatedReceiver.got() {
			if slices.Contains(events, a.EventID) {
				freshTried++
			}
		}
		if gatedReceiver.count() > 3*len(freshIDs)+2*firstWorkerLimit {
			t.Fatalf("%d of the fresh ones after %d attempts, with %d that are due", freshTried, gatedReceiver.count(), len(dueIDs))
		}
	}
	gate.open()
	f.quiesce()
	if requestsBefore != len(dueIDs) {
		t.Errorf("%d attempts at first, want %d", requestsBefore, len(dueIDs))
	}
}

// After a restart, or a long idle time, the waiting deliveries in the store mark a destination as
// failing: its retries use no workers of destinations that answer.
func TestRetriesToHangingDestinationsLeaveRoomForOthers(t *testing.T) {
	const hangingCount = maxQuickWorkers + 50
	f := newFixture(t)
	hanging := startReceiver(t, func(a *arrival) int {
		if a.nth == 1 {
			return 500
		}
		return noResponse
	})
	answering := startReceiver(t, alwaysStatus(200))
	var destinations []ledger.ID
	for range hangingCount {
		destinations = append(destinations, f.destinationOf(hanging))
	}
	f.notify(firstOrg, posting.Webhook, destinations...)
	f.quiesce()
	f.stop()
	if err := f.Clock.Set(f.Clock.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	f.start()
	waitFor(t, "the failing destinations use all their workers", func() bool { return hanging.count() == hangingCount+maxFailingWorkers })
	f.notifyOne(f.destinationOf(answering))
	waitFor(t, "the other destination has its notification", func() bool { return answering.count() == 1 })
	if got := hanging.count(); got != hangingCount+maxFailingWorkers {
		t.Errorf("%d have answered meanwhile", got-hangingCount-maxFailingWorkers)
	}
}
