package notifier

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/posting"
)

const month = 30 * 24 * time.Hour

// After a month all finished deliveries are removed: pages, marks, kept and parked ones, bulletins
// and their keys. None of them is sent again.
func TestWhatIsOverIsRemovedAfterTheRetention(t *testing.T) {
	h := newFixture(t, func(h *fixture) {
		h.telegrams = func(ledger.ID, ledger.ID, []byte, []byte) (Attempt, []byte, time.Duration) {
			return Attempt{At: ledger.MicrosOf(h.clock.Now())}, nil, 0
		}
	})
	good, later := receive(t, always(200)), receive(t, func(a *arrival) int { return map[bool]int{true: 500, false: 200}[a.nth == 1] })
	dead := receive(t, always(500))
	var old []ID
	for _, r := range []*receiver{good, later, dead} {
		old = append(old, h.many(h.at(r), 3)...)
	}
	if err := h.Post(here, uuid.New(), []byte("b"), "key"); err != nil {
		t.Fatal(err)
	}
	h.pass(20 * 24 * time.Hour)
	fresh := h.one(h.at(later))
	h.pass(9 * 24 * time.Hour)
	for _, id := range old {
		if d := h.delivery(id); d.State == Pending {
			t.Errorf("%v is %v", id, d.State)
		}
	}
	if got := len(h.rows(here, rowKept)); got != 3+3+1+1 {
		t.Errorf("%d have rows of their own", got)
	}
	h.pass(2 * 24 * time.Hour)
	for _, id := range old {
		_, err := h.Read(here, id)
		wantCode(t, err, ledger.NotFound)
	}
	h.wants(fresh, Delivered, 2)
	h.wantRows(map[byte]int{rowNotices: 2, rowKept: 1}) // the last page before may have notices that are not old
	before := good.count() + later.count() + dead.count()
	h.restart()
	h.pass(month)
	if got := good.count() + later.count() + dead.count(); got != before {
		t.Errorf("%d old notices are told again after a restart", got-before)
	}
}

// If no later page follows, the last page stays, with its kept deliveries: otherwise its notice
// would look untried.
func TestNothingOldIsToldAgainWhereNothingElseHappens(t *testing.T) {
	h := newFixture(t)
	r := receive(t, always(500))
	id := h.one(h.at(r))
	h.pass(2 * month)
	for range 2 {
		h.restart()
		h.pass(month)
	}
	_, err := h.Read(here, id)
	wantCode(t, err, ledger.NotFound)
	if got := r.count(); got != MaxAttempts {
		t.Errorf("%d requests, want %d", got, MaxAttempts)
	}
}

func TestWhatIsPendingStaysHoweverOldItIs(t *testing.T) {
	h := newFixture(t, func(h *fixture) { h.keep = 3 * time.Hour })
	r := receive(t, func(a *arrival) int { return map[bool]int{true: 500, false: 200}[a.nth < MaxAttempts] })
	to := h.at(r)
	id := h.one(to)
	h.pass(5 * time.Hour) // its sixth attempt comes after more than seven hours
	h.one(to)
	h.pass(2 * time.Hour)
	h.wants(id, Pending, 5)
	h.restart()
	h.pass(time.Hour)
	if got := r.events()[EventID(here, id).String()]; got != MaxAttempts {
		t.Errorf("%d attempts, want %d", got, MaxAttempts)
	}
	h.pass(48 * time.Hour)
	_, err := h.Read(here, id)
	wantCode(t, err, ledger.NotFound)
	if got := len(h.rows(here, rowRetries)); got != 0 {
		t.Errorf("%d deliveries wait", got)
	}
}

// A retention run continues with further Changes until nothing old is left.
func TestASweepRemovesMoreThanOneChangeHolds(t *testing.T) {
	h := newFixture(t)
	dead, good := h.at(receive(t, always(500))), receive(t, always(200))
	to := h.at(good)
	h.many(dead, 2*maxRemoved+10)
	for range maxRemoved + 20 {
		h.one(to) // a page each
	}
	h.pass(2 * 24 * time.Hour)
	if n := len(h.rows(here, rowParked)); n != 2*maxRemoved+10 {
		t.Fatalf("%d are parked", n)
	}
	h.pass(month)
	last := h.one(to)
	h.pass(2 * 24 * time.Hour)
	h.wants(last, Delivered, 1)
	h.wantRows(map[byte]int{rowNotices: 2, rowMarks: 2}) // the last page before; part of it may not be old
}

// An organization without new notices is handled too, and a removal that finds nothing writes nothing.
func TestASweepThatFindsNothingWritesNothing(t *testing.T) {
	h := newFixture(t)
	h.one(h.at(receive(t, always(200))))
	h.pass(2 * 24 * time.Hour)
	before := h.journal.Stats.Changes.Load()
	h.pass(20 * 24 * time.Hour)
	if got := h.journal.Stats.Changes.Load(); got != before {
		t.Errorf("%d Changes by sweeps that find nothing", got-before)
	}
}

// A bulletin's key is kept as long as its bulletin.
func TestAKeyIsKeptAsLongAsItsBulletin(t *testing.T) {
	h := newFixture(t)
	for day := range 32 {
		if err := h.Post(here, uuid.New(), []byte("b"), "key"); err != nil {
			t.Fatal(err)
		}
		h.rest()
		if n := len(h.rows(here, rowKept)); n != 1 {
			t.Fatalf("day %d: %d bulletins", day, n)
		}
		h.pass(24 * time.Hour)
	}
	if first := readID(h.rows(here, rowKept)[0][1:]).Booked; first <= ledger.MicrosOf(began) {
		t.Error("the first one is still there")
	}
}

// One organization has an unreadable row: the others are swept, and the move of the clock does not
// fail. When the row can be read again, that organization is swept too.
func TestAnOrganizationThatCannotBeSweptKeepsNothingOfOthers(t *testing.T) {
	h := newFixture(t, func(h *fixture) { h.keep = time.Hour })
	r := receive(t, always(200))
	to := h.at(r)
	tells := func() {
		for range 2 { // two pages: the first can be removed when it is old
			h.tells(here, posting.Webhook, to)
			h.tells(there, posting.Webhook, to)
			h.rest()
		}
	}
	tells()
	h.plant(here, []byte{rowCursor}, []byte{1})
	h.pass(2 * 24 * time.Hour)
	tells()
	h.pass(24 * time.Hour)
	if here, there := len(h.rows(here, rowNotices)), len(h.rows(there, rowNotices)); here != 4 || there != 2 && there != 1 {
		t.Errorf("%d pages of the one and %d of the other are left", here, there)
	}
	h.plant(here, []byte{rowCursor}, nil)
	h.pass(removalRetry)
	if here, there := len(h.rows(here, rowNotices)), len(h.rows(there, rowNotices)); here != there {
		t.Errorf("%d pages of the one and %d of the other are left", here, there)
	}
}

// A delivery that cannot be read stays; deliveries behind it are removed.
func TestARowThatCannotBeReadIsSweptAround(t *testing.T) {
	h := newFixture(t, func(h *fixture) { h.keep = 10 * time.Hour })
	id := h.one(h.at(receive(t, always(500))))
	h.plant(here, keyKept(ID{id.Booked - 1, posting.Bulletin}), []byte{0xff})
	h.pass(2 * 24 * time.Hour)
	h.one(uuid.New()) // a later page, so that the first one can be removed
	h.pass(2 * 24 * time.Hour)
	_, err := h.Read(here, id)
	wantCode(t, err, ledger.NotFound)
	if _, found := h.allRows()[string(keyKept(id))]; found {
		t.Error("what is behind it is still there")
	}
}

// Neither a move of the cursor that arrives late with an older page, nor one in the same Change,
// moves it back.
func TestTheCursorNeverGoesBack(t *testing.T) {
	h := newFixture(t)
	ask := func(to ...ledger.Micros) {
		t.Helper()
		if err := h.ask(here, func(o *deliveryLog, d *draft, _ ledger.Micros) error {
			for _, page := range to {
				if err := o.passCursor(d, page); err != nil {
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
		ask(step.to...)
		if c, err := h.cursor(here); c != step.want || err != nil {
			t.Errorf("after %d the cursor is at %d, want %d (%v)", step.to, c, step.want, err)
		}
	}
}

// A Change looks at a bounded number of rows that stay, and the next one continues behind them.
func TestASweepPassesManyThatStayInStepsAndOnce(t *testing.T) {
	h := newFixture(t)
	const stay = maxPassed + 100
	c, to := &posting.Change{Outcome: true}, uuid.New()
	for i := range stay {
		d := &Delivery{ID: ID{ledger.Micros(i + 1), posting.Webhook}, To: to, State: Pending, Next: 1 << 60, page: 1, Source: ledger.Source{Kind: ledger.Transaction}}
		row, err := encodeKept(d)
		if err != nil {
			t.Fatal(err)
		}
		if c.KVs = append(c.KVs, posting.KV{Org: here, Key: keyKept(d.ID), Value: row}); len(c.KVs) == 1_000 || i == stay-1 {
			h.submit(c)
			c = &posting.Change{Outcome: true}
		}
	}
	var steps []*removalProgress
	for at := new(removalProgress); at.more(); steps = append(steps, at) {
		from := *at
		if err := h.ask(here, func(o *deliveryLog, d *draft, _ ledger.Micros) (err error) {
			at, err = o.removeOld(d, ledger.MicrosOf(began), from)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(steps) != 2 || string(steps[0].kept.from) != string(keyKept(ID{maxPassed + 1, posting.Webhook})) {
		t.Errorf("%d steps, the first to %x", len(steps), steps[0].kept.from)
	}
}
