package notifier

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

// allRows returns the organization's delivery rows, which a restart must not change.
func (f *fixture) allRows() map[string]string {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	rows := make(map[string]string)
	err := v.KVsAscending(firstOrg, nil, nil, func(key, value []byte) (bool, error) {
		rows[string(key)] = string(value)
		return true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return rows
}

// A restart at any step of a delivery changes neither the stored rows, nor the sent notifications, nor
// their times.
func TestRestartContinuesWhereItStopped(t *testing.T) {
	f := newFixture(t)
	receiver := startReceiver(t, alwaysStatus(500))
	answering := startReceiver(t, alwaysStatus(200))
	delivered, id := f.notifyOne(f.destinationOf(answering)), f.notifyOne(f.destinationOf(receiver))
	f.quiesce()
	wantSameRows := func(step string) {
		t.Helper()
		before, requests := f.allRows(), receiver.count()
		f.restart()
		f.quiesce()
		if after := f.allRows(); !reflect.DeepEqual(before, after) {
			t.Errorf("%s: a restart changes what is stored:\n%q\n%q", step, before, after)
		}
		if receiver.count() != requests || answering.count() != 1 {
			t.Errorf("%s: a restart sends something", step)
		}
		f.wantDelivery(delivered, Delivered, 1)
	}
	for n, gap := range gapsWanted {
		wantSameRows(fmt.Sprintf("after attempt %d", n+1))
		f.advance(gap - microsecond)
		wantSameRows(fmt.Sprintf("just before attempt %d", n+2))
		if receiver.count() != n+1 {
			t.Fatalf("%d requests just before attempt %d", receiver.count(), n+2)
		}
		f.advance(microsecond)
		f.wantDelivery(id, map[bool]State{false: Pending, true: Parked}[n+2 == MaxAttempts], n+2)
	}
	wantSameRows("parked")
	f.advance(24 * time.Hour)
	wantSameRows("a day later")
}

// Deliveries that became due while the process was down are tried at start.
func TestDeliveriesDueDuringDowntimeAreTriedAtStart(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, func(a *arrival) int { return map[bool]int{true: 500, false: 200}[a.nth == 1] })
	id := f.notifyOne(f.destinationOf(r))
	f.quiesce()
	f.stop()
	if err := f.Clock.Set(startTime.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.quiesce()
	d := f.wantDelivery(id, Delivered, 2)
	if d.Attempts[1].At != ledger.MicrosOf(startTime.Add(time.Hour)) {
		t.Errorf("the second attempt was at %d", d.Attempts[1].At)
	}
}

// An attempt that the end of the process interrupted does not count: it is made again at the next
// start, and counted once.
func TestInterruptedAttemptDoesNotCount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var stopped sync.Map
	receiver := startReceiver(t, func(*arrival) int {
		if _, ok := stopped.Load("hanging"); ok {
			return 200
		}
		return noResponse
	})
	ids := f.notifyMany(f.destinationOf(receiver), 40)
	waitFor(t, "under way", func() bool { return receiver.count() == 1 })
	stopped.Store("hanging", true)
	f.restart()
	f.quiesce()
	for _, id := range ids {
		f.wantDelivery(id, Delivered, 1)
	}
	if got := receiver.count(); got != len(ids)+1 {
		t.Errorf("%d requests, want %d and the one that was interrupted", got, len(ids))
	}
}

// A retry that the end of the process interrupted is made again at the next start, and counted once.
func TestInterruptedRetryIsRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := startReceiver(t, func(a *arrival) int {
		return []int{500, noResponse, 200}[min(a.nth, 3)-1]
	})
	id := f.notifyOne(f.destinationOf(r))
	f.quiesce()
	go func() { _ = f.Runtime.Advance(startTime.Add(30 * time.Second)) }() // Advance returns when the runtime ends
	waitFor(t, "under way", func() bool { return r.count() == 2 })
	f.restart()
	f.quiesce()
	f.wantDelivery(id, Delivered, 2)
}

func TestNothingIsDeliveredAfterClose(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(200))
	to := f.destinationOf(r)
	f.Service.Close()
	id := f.notifyOne(to)
	f.quiesce()
	if r.count() != 0 {
		t.Errorf("%d requests after Close", r.count())
	}
	f.restart()
	f.quiesce()
	f.wantDelivery(id, Delivered, 1)
}

// The cursor moves up to the first notice whose result is not stored, and further once that result is stored.
func TestCursorStopsAtTheFirstUnsettledNotice(t *testing.T) {
	f := newFixture(t)
	gate := newGate()
	good, slow := startReceiver(t, alwaysStatus(200)), startReceiver(t, func(*arrival) int { gate.wait(); return 200 }, gate)
	to, toSlow := f.destinationOf(good), f.destinationOf(slow)
	var pages []ledger.Micros
	for range 3 {
		pages = append(pages, f.notifyOne(to).Booked) // each notice is on a page of its own
	}
	f.quiesce()
	f.notifyOne(toSlow)
	waitFor(t, "under way", func() bool { return slow.count() == 1 })
	waiting := f.notifyOne(toSlow)
	f.moveCursor(firstOrg)
	waitFor(t, "the cursor has passed the settled pages", func() bool { c, err := f.cursor(firstOrg); return err == nil && c > pages[2] && c < waiting.Booked })
	gate.open()
	f.quiesce()
	f.moveCursor(firstOrg)
	f.quiesce()
	if c, err := f.cursor(firstOrg); err != nil || c != waiting.Booked {
		t.Errorf("the cursor is at %d, want the last page, %d (%v)", c, waiting.Booked, err)
	}
}

// storeCopy is a copy of a store at a moment when the process could have been killed.
type storeCopy struct {
	dir          string
	now          time.Time
	acknowledged map[string]bool // event_ids that receivers had acknowledged by then
}

// copyingLog is a posting.Log that copies the store before each group of Changes is applied.
type copyingLog struct {
	posting.Log
	copyStore func()
}

func (c *copyingLog) Apply(g *store.Group) error {
	c.copyStore()
	return c.Log.Apply(g)
}

// After a kill before any group of Changes, the restarted notifier delivers or parks every durable notice, with the
// same event_id and data as without the kill, after at most six attempts.
func TestAKillAtAnyGroupLosesNoNotification(t *testing.T) {
	random := testseed.Random(t)
	var mu sync.Mutex
	seed := random.Uint64()
	answer := func(a *arrival) int { // the answer depends on event and attempt only, so it is the same in each run
		return []int{200, 500, 302}[(uint64(a.EventID[35])*7+uint64(a.nth)+seed)%3]
	}
	receiver := startReceiver(t, answer)
	acknowledged := func() map[string]bool {
		ids := make(map[string]bool)
		for _, a := range receiver.got() {
			if answer(a) == 200 {
				ids[a.EventID] = true
			}
		}
		return ids
	}
	var copies []storeCopy
	f := newFixture(t, func(f *fixture) {
		f.JournalOptions.WrapLog = func(l posting.Log) posting.Log {
			return &copyingLog{l, func() {
				mu.Lock()
				defer mu.Unlock()
				dir := filepath.Join(f.t.TempDir(), fmt.Sprint(len(copies)))
				err := os.CopyFS(dir, os.DirFS(f.Dir))
				for errors.Is(err, fs.ErrNotExist) { // the store has just replaced a file
					if err = os.RemoveAll(dir); err == nil {
						err = os.CopyFS(dir, os.DirFS(f.Dir))
					}
				}
				if err != nil {
					t.Error(err)
				}
				copies = append(copies, storeCopy{dir, f.Clock.Now(), acknowledged()})
			}}
		}
	})
	to := []ledger.ID{f.destinationOf(receiver), f.destinationOf(receiver), f.destinationOf(receiver)}
	for range 4 {
		for range 1 + random.IntN(6) {
			f.notify(firstOrg, posting.Webhook, to[random.IntN(3)], to[random.IntN(3)])
		}
		f.advance(time.Duration(random.IntN(200)) * time.Second)
	}
	f.advance(8 * time.Hour)
	dataByEvent := make(map[string]string)
	for _, a := range receiver.got() {
		dataByEvent[a.EventID] = string(a.Data)
	}
	mu.Lock()
	allCopies := copies
	mu.Unlock()
	if len(allCopies) < 10 {
		t.Errorf("only %d points to be killed at", len(allCopies))
	}
	for n := range allCopies {
		if n%max(1, len(allCopies)/12) == 0 {
			allCopies[n].wantResumed(t, f.addresses, answer, dataByEvent)
		}
	}
}

// wantResumed starts a notifier on a copy of the store, lets it finish and checks its deliveries.
func (i *storeCopy) wantResumed(t *testing.T, addresses *addressBook, answer func(*arrival) int, dataByEvent map[string]string) {
	t.Helper()
	r := startReceiver(t, answer)
	restarted := newFixture(t, func(f *fixture) {
		f.Dir, f.Clock, f.addresses = i.dir, clock.NewManual(i.now), &addressBook{addresses: make(map[ledger.ID]actors.Address)}
	})
	addresses.mu.Lock()
	for to := range addresses.addresses {
		restarted.addresses.set(to, actors.Address{URL: r.URL, Secret: "s"})
	}
	addresses.mu.Unlock()
	restarted.advance(20 * time.Hour)
	for _, a := range r.got() {
		if a.status == 200 {
			i.acknowledged[a.EventID] = true
		}
		if dataByEvent[a.EventID] != string(a.Data) {
			t.Errorf("event %s says %s, and said %s", a.EventID, a.Data, dataByEvent[a.EventID])
		}
	}
	view := restarted.Journal.View()
	defer view.Close()
	err := view.NoticesAscending(firstOrg, 0, func(n *posting.Notice) (bool, error) {
		d := restarted.delivery(idOf(n))
		event := EventID(firstOrg, d.ID).String()
		if d.State == Pending || (d.State == Delivered) != i.acknowledged[event] || len(d.Attempts) > MaxAttempts {
			t.Errorf("event %s ends %v after %d attempts, acknowledged: %v", event, d.State, len(d.Attempts), i.acknowledged[event])
		}
		return true, nil
	})
	if err != nil {
		t.Error(err)
	}
}
