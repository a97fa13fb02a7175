package notifier

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
)

const month = 30 * 24 * time.Hour

// After a month all rows of finished deliveries are removed: pages of notices, acknowledgements, the deliveries'
// own rows, and the rows and keys of bulletins (messages to operators about no event). No delivery is attempted
// again.
func TestFinishedDeliveriesAreRemovedAfterTheRetention(t *testing.T) {
	f := newFixture(t, func(f *fixture) {
		f.notifyOperators = func(ledger.ID, ledger.ID, []byte, []byte) (Attempt, []byte, time.Duration) {
			return Attempt{At: ledger.MicrosOf(f.Clock.Now())}, nil, 0
		}
	})
	answering, answersSecond := startReceiver(t, alwaysStatus(200)), startReceiver(t, func(a *arrival) int { return map[bool]int{true: 500, false: 200}[a.nth == 1] })
	failing := startReceiver(t, alwaysStatus(500))
	var oldIDs []ID
	for _, r := range []*receiver{answering, answersSecond, failing} {
		oldIDs = append(oldIDs, f.notifyMany(f.destinationOf(r), 3)...)
	}
	if err := f.PostBulletin(firstOrg, uuid.New(), []byte("b"), "key"); err != nil {
		t.Fatal(err)
	}
	f.advance(20 * 24 * time.Hour)
	freshID := f.notifyOne(f.destinationOf(answersSecond))
	f.advance(9 * 24 * time.Hour)
	for _, id := range oldIDs {
		if d := f.delivery(id); d.State == Pending {
			t.Errorf("%v is %v", id, d.State)
		}
	}
	if got := len(f.rows(firstOrg, rowDeliveries)); got != 3+3+1+1 {
		t.Errorf("%d have rows of their own", got)
	}
	f.advance(2 * 24 * time.Hour)
	for _, id := range oldIDs {
		_, err := f.Read(firstOrg, id)
		wantCode(t, err, ledger.NotFound)
	}
	f.wantDelivery(freshID, Delivered, 2)
	f.wantRows(map[byte]int{rowNotices: 2, rowDeliveries: 1}) // the page before the last stays, because some of its notices may be too new
	before := answering.count() + answersSecond.count() + failing.count()
	f.restart()
	f.advance(month)
	if got := answering.count() + answersSecond.count() + failing.count(); got != before {
		t.Errorf("%d old notices are delivered again after a restart", got-before)
	}
}

// The last page of notices stays, with its deliveries' own rows. If only these rows were removed, the page's notice
// would look untried.
func TestLastPageStaysIfNoPageFollows(t *testing.T) {
	f := newFixture(t)
	r := startReceiver(t, alwaysStatus(500))
	id := f.notifyOne(f.destinationOf(r))
	f.advance(2 * month)
	for range 2 {
		f.restart()
		f.advance(month)
	}
	_, err := f.Read(firstOrg, id)
	wantCode(t, err, ledger.NotFound)
	if got := r.count(); got != MaxAttempts {
		t.Errorf("%d requests, want %d", got, MaxAttempts)
	}
}

func TestPendingDeliveriesAreNotRemoved(t *testing.T) {
	f := newFixture(t, func(f *fixture) { f.retention = 3 * time.Hour })
	r := startReceiver(t, func(a *arrival) int { return map[bool]int{true: 500, false: 200}[a.nth < MaxAttempts] })
	to := f.destinationOf(r)
	id := f.notifyOne(to)
	f.advance(5 * time.Hour) // the sixth attempt comes after more than seven hours
	f.notifyOne(to)
	f.advance(2 * time.Hour)
	f.wantDelivery(id, Pending, 5)
	f.restart()
	f.advance(time.Hour)
	if got := r.events()[EventID(firstOrg, id).String()]; got != MaxAttempts {
		t.Errorf("%d attempts, want %d", got, MaxAttempts)
	}
	f.advance(48 * time.Hour)
	_, err := f.Read(firstOrg, id)
	wantCode(t, err, ledger.NotFound)
	if got := len(f.rows(firstOrg, rowRetries)); got != 0 {
		t.Errorf("%d deliveries wait", got)
	}
}

// A retention run continues with further Changes until nothing old is left.
func TestRetentionRemovesMoreThanOneChangeHolds(t *testing.T) {
	f := newFixture(t)
	toFailing, receiver := f.destinationOf(startReceiver(t, alwaysStatus(500))), startReceiver(t, alwaysStatus(200))
	to := f.destinationOf(receiver)
	f.notifyMany(toFailing, 2*maxRemoved+10)
	for range maxRemoved + 20 {
		f.notifyOne(to) // each notice is on a page of its own
	}
	f.advance(2 * 24 * time.Hour)
	if n := len(f.rows(firstOrg, rowParked)); n != 2*maxRemoved+10 {
		t.Fatalf("%d are parked", n)
	}
	f.advance(month)
	last := f.notifyOne(to)
	f.advance(2 * 24 * time.Hour)
	f.wantDelivery(last, Delivered, 1)
	f.wantRows(map[byte]int{rowNotices: 2, rowAcknowledgements: 2}) // the page before the last stays, because some of its notices may be too new
}

// A retention run that finds nothing old writes nothing.
func TestRetentionWithoutOldRowsWritesNothing(t *testing.T) {
	f := newFixture(t)
	f.notifyOne(f.destinationOf(startReceiver(t, alwaysStatus(200))))
	f.advance(2 * 24 * time.Hour)
	before := f.Journal.Stats.Changes.Load()
	f.advance(20 * 24 * time.Hour)
	if got := f.Journal.Stats.Changes.Load(); got != before {
		t.Errorf("%d Changes by sweeps that find nothing", got-before)
	}
}

// A bulletin (a message to operators about no event) is posted every day with the same key. It is sent again only
// after the first one and its key were removed.
func TestBulletinsKeyIsKeptAsLongAsTheBulletin(t *testing.T) {
	f := newFixture(t)
	for day := range 32 {
		if err := f.PostBulletin(firstOrg, uuid.New(), []byte("b"), "key"); err != nil {
			t.Fatal(err)
		}
		f.quiesce()
		if n := len(f.rows(firstOrg, rowDeliveries)); n != 1 {
			t.Fatalf("day %d: %d bulletins", day, n)
		}
		f.advance(24 * time.Hour)
	}
	if postedAt := readID(f.rows(firstOrg, rowDeliveries)[0][1:]).Booked; postedAt <= ledger.MicrosOf(startTime) {
		t.Error("the first one is still there")
	}
}

// One organization has an unreadable row: retention still runs in the others, and the move of the clock
// does not fail. When the row is gone, retention runs in the first organization too.
func TestFailedRetentionDoesNotAffectOtherOrganizations(t *testing.T) {
	f := newFixture(t, func(f *fixture) { f.retention = time.Hour })
	r := startReceiver(t, alwaysStatus(200))
	to := f.destinationOf(r)
	notifyBoth := func() {
		for range 2 { // two pages, so that the first can be removed when it is old
			f.notify(firstOrg, posting.Webhook, to)
			f.notify(secondOrg, posting.Webhook, to)
			f.quiesce()
		}
	}
	notifyBoth()
	f.plant(firstOrg, []byte{rowCursor}, []byte{1})
	f.advance(2 * 24 * time.Hour)
	notifyBoth()
	f.advance(24 * time.Hour)
	if ofFirst, ofSecond := len(f.rows(firstOrg, rowNotices)), len(f.rows(secondOrg, rowNotices)); ofFirst != 4 || ofSecond != 2 && ofSecond != 1 {
		t.Errorf("%d pages of the one and %d of the other are left", ofFirst, ofSecond)
	}
	f.plant(firstOrg, []byte{rowCursor}, nil)
	f.advance(removalRetry)
	if ofFirst, ofSecond := len(f.rows(firstOrg, rowNotices)), len(f.rows(secondOrg, rowNotices)); ofFirst != ofSecond {
		t.Errorf("%d pages of the one and %d of the other are left", ofFirst, ofSecond)
	}
}

// A delivery that cannot be read stays; the deliveries after it are removed.
func TestRetentionSkipsUnreadableRows(t *testing.T) {
	f := newFixture(t, func(f *fixture) { f.retention = 10 * time.Hour })
	id := f.notifyOne(f.destinationOf(startReceiver(t, alwaysStatus(500))))
	f.plant(firstOrg, keyDelivery(ID{id.Booked - 1, posting.OperatorBulletin}), []byte{0xff})
	f.advance(2 * 24 * time.Hour)
	f.notifyOne(uuid.New()) // a later page, so that the first one can be removed
	f.advance(2 * 24 * time.Hour)
	_, err := f.Read(firstOrg, id)
	wantCode(t, err, ledger.NotFound)
	if _, found := f.allRows()[string(keyDelivery(id))]; found {
		t.Error("what is behind it is still there")
	}
}

// A request to move the cursor to an older page does nothing, whether it comes in a later Change or in the same
// one.
func TestTheCursorNeverGoesBack(t *testing.T) {
	f := newFixture(t)
	moveCursorTo := func(to ...ledger.Micros) {
		t.Helper()
		if err := f.writeLog(firstOrg, func(l *deliveryLog, d *draft, _ ledger.Micros) error {
			for _, page := range to {
				if err := l.raiseCursor(d, page); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		to   []ledger.Micros
		want ledger.Micros
	}{{[]ledger.Micros{5}, 5}, {[]ledger.Micros{3}, 5}, {[]ledger.Micros{9, 7, 8}, 9}, {[]ledger.Micros{9}, 9}} {
		moveCursorTo(step.to...)
		if c, err := f.cursor(firstOrg); c != step.want || err != nil {
			t.Errorf("after %d the cursor is at %d, want %d (%v)", step.to, c, step.want, err)
		}
	}
}

// A Change looks at a bounded number of rows that stay, and the next Change continues after these rows.
func TestRetentionPassesRemainingRowsOnceAndInSteps(t *testing.T) {
	f := newFixture(t)
	const rowCount = maxExamined + 100
	change, to := &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}, uuid.New()
	for i := range rowCount {
		d := &Delivery{ID: ID{ledger.Micros(i + 1), posting.Webhook}, To: to, State: Pending, Next: 1 << 60, pageStart: 1, Source: ledger.Source{Kind: ledger.Transaction}}
		row, err := encodeDelivery(d)
		if err != nil {
			t.Fatal(err)
		}
		if change.KVs = append(change.KVs, posting.KV{Org: firstOrg, Key: keyDelivery(d.ID), Value: row}); len(change.KVs) == 1_000 || i == rowCount-1 {
			f.submit(change)
			change = &posting.Change{Author: ledger.BySystem.Author(), MustRecord: true}
		}
	}
	var steps []*removalProgress
	for reached := new(removalProgress); reached.hasMore(); steps = append(steps, reached) {
		from := *reached
		if err := f.writeLog(firstOrg, func(l *deliveryLog, d *draft, _ ledger.Micros) (err error) {
			reached, err = l.removeOld(d, ledger.MicrosOf(startTime), from)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(steps) != 2 || string(steps[0].deliveries.from) != string(keyDelivery(ID{maxExamined + 1, posting.Webhook})) {
		t.Errorf("%d steps, the first to %x", len(steps), steps[0].deliveries.from)
	}
}
