package notifier

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/posting"
)

// listAll lists all pages from the query's position on, and returns how many there were.
func (f *fixture) listAll(q Query) (rows []*Delivery, pages int) {
	f.t.Helper()
	for {
		page, next, err := f.List(firstOrg, q)
		if err != nil {
			f.t.Fatal(err)
		}
		if len(page) > q.Limit {
			f.t.Fatalf("a page of %d rows, at most %d were asked for", len(page), q.Limit)
		}
		rows, pages = append(rows, page...), pages+1
		if next == (Position{}) {
			return rows, pages
		}
		if q.Before.ID != (ID{}) && q.Before.Untried == next.Untried && next.compare(q.Before.ID) >= 0 || q.Before.Untried && !next.Untried {
			f.t.Fatalf("a cursor goes back")
		}
		q.Before = next
	}
}

// describe formats a delivery for comparison.
func describe(d *Delivery) string {
	return fmt.Sprintf("%d/%v %v to %v of %v, %d attempts, next %d, %q", d.Booked, d.Channel, d.State, d.To, d.Source.ID, len(d.Attempts), d.Next, d.body)
}

func describeAll(all []*Delivery) (texts []string) {
	for _, d := range all {
		texts = append(texts, describe(d))
	}
	return texts
}

// For every query and page length, a list has the same deliveries, newest first, as the test selects after it has read each
// delivery by itself.
func TestListAgreesWithSingleReads(t *testing.T) {
	t.Parallel()
	random := testseed.Random(t)
	f := newFixture(t)
	answering, failing := f.destinationOf(startReceiver(t, alwaysStatus(200))), uuid.New()
	var ids []ID
	addIDs := func(id ...ID) { ids = append(ids, id...) }
	for i := range 60 {
		to := [...]ledger.ID{answering, failing}[random.IntN(2)]
		switch random.IntN(6) {
		case 0:
			addIDs(f.notifyMany(to, 1+random.IntN(20))...)
		case 1:
			addIDs(f.notify(firstOrg, [...]posting.Channel{posting.OperatorAlert, posting.PayerReceipt}[random.IntN(2)], to)...)
		case 2:
			if err := f.PostBulletin(firstOrg, to, []byte("b"), fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		case 3:
			f.advance(time.Duration(random.IntN(3000)) * time.Second)
		case 4:
			if len(ids) > 0 {
				f.quiesce()
				if _, err := f.Replay(firstOrg, ids[random.IntN(len(ids))], nil); err != nil {
					t.Fatal(err)
				}
			}
		default:
			addIDs(f.notifyOne(to))
		}
	}
	f.quiesce()
	listed, _ := f.listAll(Query{Limit: 10_000})
	var all []*Delivery
	for _, d := range listed { // PostBulletin does not return the ids of bulletins
		if d.Channel == posting.OperatorBulletin {
			addIDs(d.ID)
		}
	}
	for _, id := range ids {
		d, err := f.Read(firstOrg, id)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *Delivery) int { return b.compare(a.ID) })
	for range 200 {
		q := Query{Limit: 1 + random.IntN(30), State: State(random.IntN(4))}
		if random.IntN(2) == 0 {
			q.To = [...]ledger.ID{answering, failing, uuid.New()}[random.IntN(3)]
		}
		if random.IntN(2) == 0 {
			q.From = all[random.IntN(len(all))].Booked + ledger.Micros(random.IntN(2))
		}
		if random.IntN(2) == 0 {
			q.Until = all[random.IntN(len(all))].Booked - ledger.Micros(random.IntN(2))
		}
		if random.IntN(4) == 0 {
			q.Transaction = all[random.IntN(len(all))].Source.ID
		}
		var want []*Delivery
		for _, d := range all {
			if (q.State == 0 || d.State == q.State) && (q.To == ledger.ID{} || d.To == q.To) && d.Booked >= q.From &&
				(q.Until == 0 || d.Booked <= q.Until) && (q.Transaction == ledger.ID{} || d.Source.ID == q.Transaction) {
				want = append(want, d)
			}
		}
		if q.State == Pending && q.Transaction == (ledger.ID{}) { // waiting deliveries first, then untried ones
			slices.SortStableFunc(want, func(a, b *Delivery) int { return cmp.Compare(min(1, len(b.Attempts)), min(1, len(a.Attempts))) })
		}
		if got, _ := f.listAll(q); !slices.Equal(describeAll(got), describeAll(want)) {
			t.Fatalf("%+v lists %d, want %d:\n%v\n%v", q, len(got), len(want), describeAll(got), describeAll(want))
		}
	}
}

// One call of List looks at a bounded number of rows, and returns where to continue.
func TestListReadsABoundedNumberOfRows(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	to := uuid.New()
	oldest := f.notifyOne(to)
	f.quiesce()
	const n = maxListedRows + maxDeliveriesRead + 10
	f.parkBulletins(to, oldest.Booked+1, n)
	if rows, pages := f.listAll(Query{State: Delivered, Limit: 10}); len(rows) != 0 || pages < 2 || pages > 4 {
		t.Errorf("%d rows on %d pages", len(rows), pages)
	}
	for _, q := range []Query{{Limit: 900}, {Limit: 5_000}, {Limit: 1_500, State: Parked}, {Limit: 2_000, State: Parked, To: to}} {
		rows, _ := f.listAll(q)
		want := n
		if q.State == 0 {
			want++ // counts the transaction's notice, which is older than the bulletins
		}
		if len(rows) != want || !slices.IsSortedFunc(rows, func(a, b *Delivery) int { return b.compare(a.ID) }) {
			t.Errorf("%+v: %d rows, want %d", q, len(rows), want)
		}
	}
}

// parkBulletins writes parked deliveries to operators, as a delivery log would.
func (f *fixture) parkBulletins(to ledger.ID, from ledger.Micros, n int) {
	f.t.Helper()
	for chunkStart := 0; chunkStart < n; chunkStart += 500 {
		c := &posting.Change{Author: ledger.BySystem.Author()}
		for i := chunkStart; i < min(n, chunkStart+500); i++ {
			d := &Delivery{ID: ID{from + ledger.Micros(i), posting.OperatorBulletin}, To: to, State: Parked, body: []byte("b")}
			row, err := encodeDelivery(d)
			if err != nil {
				f.t.Fatal(err)
			}
			c.KVs = append(c.KVs, posting.KV{Org: firstOrg, Key: keyDelivery(d.ID), Value: row},
				posting.KV{Org: firstOrg, Key: keyParked(d.key(firstOrg), d.ID), Value: []byte{}})
		}
		f.submit(c)
	}
}

// Waiting and parked deliveries are on the first page, however many later ones were delivered.
func TestWaitingDeliveryIsListedFirstDespiteManyDelivered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	answering, failing, other := f.destinationOf(startReceiver(t, alwaysStatus(200))), uuid.New(), uuid.New()
	parked := []ID{f.notifyOne(other), f.notifyOne(failing)}
	f.advance(8 * time.Hour) // all six attempts have failed
	var waiting []ID
	for range 5 {
		waiting = append(waiting, f.notifyOne(failing))
	}
	for range maxListedPages + 20 {
		f.notifyOne(answering)
	}
	f.quiesce()
	for what, c := range map[string]struct {
		q    Query
		want []ID
	}{
		"pending":            {Query{State: Pending, Limit: 10}, waiting},
		"pending of failing": {Query{State: Pending, Limit: 10, To: failing}, waiting},
		"pending of other":   {Query{State: Pending, Limit: 10, To: other}, nil},
		"the newest pending": {Query{State: Pending, Limit: 2}, waiting[3:]},
		"pending, older":     {Query{State: Pending, Limit: 10, Until: waiting[2].Booked}, waiting[:3]},
		"pending, newer":     {Query{State: Pending, Limit: 10, From: waiting[2].Booked}, waiting[2:]},
		"parked":             {Query{State: Parked, Limit: 10}, parked},
		"parked of failing":  {Query{State: Parked, Limit: 10, To: failing}, parked[1:]},
		"the newest parked":  {Query{State: Parked, Limit: 1}, parked[1:]},
	} {
		rows, _, err := f.List(firstOrg, c.q)
		if err != nil {
			t.Fatal(err)
		}
		var got []ID
		for _, d := range rows {
			got = append(got, d.ID)
		}
		slices.Reverse(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the first page has %v, want %v", what, got, c.want)
		}
	}
}

// If more deliveries wait than the number of keys that List reads, List reads the deliveries' own rows in order.
func TestListOfTooManyWaitingDeliveriesIsComplete(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	failing := uuid.New()
	waiting := f.notifyMany(failing, 40)
	f.quiesce()
	f.limits.indexKeys = 20
	for _, q := range []Query{{State: Pending, Limit: 7}, {State: Pending, Limit: 100}, {State: Pending, Limit: 7, To: failing}} {
		rows, _ := f.listAll(q)
		var got []ID
		for _, d := range rows {
			got = append(got, d.ID)
		}
		slices.Reverse(got)
		if !slices.Equal(got, waiting) {
			t.Errorf("%+v: %d of %d", q, len(got), len(waiting))
		}
	}
}

// All notices on pages before the cursor were tried, so a list of pending deliveries does not read those pages.
func TestPendingDeliveriesAreFoundByTheirOwnRows(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	to := f.destinationOf(startReceiver(t, alwaysStatus(200)))
	f.limits.untriedPages = 20
	for range 30 {
		f.notifyOne(to)
	}
	f.quiesce()
	if _, pages := f.listAll(Query{State: Pending, Limit: 10}); pages != 2 {
		t.Errorf("%d requests before the cursor has moved", pages)
	}
	f.moveCursor(firstOrg)
	f.quiesce()
	if rows, pages := f.listAll(Query{State: Pending, Limit: 10}); pages != 1 || len(rows) != 0 {
		t.Errorf("%d rows in %d requests", len(rows), pages)
	}
}

// One call of List for a transaction with very many events reads a bounded number of the events.
func TestListOfATransactionReadsABoundedNumberOfEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	to, source := uuid.New(), ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}
	withNotice, withoutNotice := 0, 0
	for expect := uint64(0); expect < 2*maxEventsRead+10; {
		step := posting.Step{Org: firstOrg, Source: source, Expect: expect, Record: []byte{1}}
		for i := range 10 {
			step.Events = append(step.Events, ledger.Event{Name: "a", To: "b"})
			if expect++; expect > maxEventsRead { // the earlier events have no notices
				step.Notices = append(step.Notices, posting.Notice{Event: i, Channel: posting.Webhook, To: to})
				withNotice++
			} else {
				withoutNotice++
			}
		}
		f.submit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{step}})
	}
	f.quiesce()
	for _, limit := range []int{7, 1_000} {
		rows, pages := f.listAll(Query{Transaction: source.ID, Limit: limit})
		if len(rows) != withNotice || pages < (withNotice+withoutNotice)/maxEventsRead {
			t.Errorf("%d rows on %d pages, want %d", len(rows), pages, withNotice)
		}
	}
}

func TestAListOfAnotherOrganizationIsEmpty(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.notifyOne(uuid.New())
	f.quiesce()
	rows, next, err := f.List(secondOrg, Query{Limit: 10})
	if len(rows) != 0 || next != (Position{}) || err != nil {
		t.Errorf("%d rows, %v, %v", len(rows), next, err)
	}
}

// A pending delivery is listed however old it is; a finished one only within the retention.
func TestOldDeliveryIsShownWhilePending(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	to := uuid.New()
	overdue := f.notifyOne(to)
	f.advance(8 * time.Hour) // after this time the first delivery is parked
	waiting := f.notifyOne(to)
	f.quiesce()
	oldest := waiting.Booked + 1
	f.plantRemoval(oldest)
	rows, _ := f.listAll(Query{Limit: 10})
	if len(rows) != 1 || rows[0].ID != waiting {
		t.Errorf("shown are %v", describeAll(rows))
	}
	if _, err := f.Read(firstOrg, overdue); !ledger.IsRefusal(err, ledger.NotFound) {
		t.Errorf("what is over: %v", err)
	}
	if d, err := f.Read(firstOrg, waiting); err != nil || d.State != Pending {
		t.Errorf("what waits: %v", err)
	}
}
