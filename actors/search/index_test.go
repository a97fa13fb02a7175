package search_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"mizan/actors/follower"
	searchactor "mizan/actors/search"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/payment/codec"
	"mizan/ledger/search"
	"mizan/posting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	firstOrg  = ledger.ID{1}
	secondOrg = ledger.ID{2}
	start     = time.Date(2026, 11, 19, 10, 0, 0, 0, time.UTC)
)

// The hashes of these two txids are equal.
const oneTxID, collidingTxID = "order-31b2f060348a", "order-bf92d6a2f5ba"

// fixture is an Index on a journal, which a test can close and open again, with all transactions that were booked.
type fixture struct {
	*testkit.World
	t        testing.TB
	follower *follower.Follower
	index    *searchactor.Index
	booked   map[ledger.ID][]*payment.Record
}

func open(t testing.TB, minUnstored int) *fixture {
	t.Helper()
	f := &fixture{World: testkit.NewWorld(t, start), t: t, booked: make(map[ledger.ID][]*payment.Record)}
	f.Open()
	f.follow(minUnstored)
	return f
}

// follow makes the follower and the index.
func (f *fixture) follow(minUnstored int) {
	f.follower = follower.New(f.Runtime)
	f.index = searchactor.New(f.follower, minUnstored)
}

// restart drops the entries that are only in memory.
func (f *fixture) restart(minUnstored int) {
	f.t.Helper()
	f.Close()
	f.Open()
	f.follow(minUnstored)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) run() {
	f.t.Helper()
	must(f.t, f.follower.Follow())
}

// book stores transactions of two events each.
func (f *fixture) book(org ledger.ID, records ...*payment.Record) {
	f.t.Helper()
	c := &posting.Change{Author: ledger.BySystem.Author()}
	for _, r := range records {
		r.ID = ledger.TimedID(f.Clock.Now(), uuid.New())
		c.Steps = append(c.Steps, step(org, r, "create", "settle"))
		f.booked[org] = append(f.booked[org], r)
	}
	f.MustSubmit(c)
}

// change stores the new state of a transaction.
func (f *fixture) change(org ledger.ID, r *payment.Record) {
	f.t.Helper()
	s := step(org, r, "refund")
	view := f.follower.View()
	stored, _, err := view.Record(org, s.Source)
	view.Close()
	must(f.t, err)
	s.Expect = stored.Header.Version
	f.MustSubmit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{s}})
}

func step(org ledger.ID, r *payment.Record, names ...string) posting.Step {
	s := posting.Step{Org: org, Source: ledger.Source{Kind: ledger.Transaction, ID: r.ID}, Record: codec.Encode(r)}
	for _, name := range names {
		s.Events = append(s.Events, ledger.Event{Name: name, To: "charged"})
	}
	return s
}

// record returns a transaction with few different values in each field.
func record(random *rand.Rand) *payment.Record {
	r := &payment.Record{RRN: fmt.Sprintf("%012d", random.IntN(30)), Request: payment.Request{
		TxID: fmt.Sprint("order-", random.IntN(50)), CardLast4: fmt.Sprintf("%04d", random.IntN(20)), Customer: fmt.Appendf(nil, `{"email":"Payer%d@shop.example"}`, random.IntN(30)),
	}}
	switch random.IntN(10) {
	case 0:
		r.TxID = oneTxID
	case 1:
		r.TxID = collidingTxID
	case 2:
		r.Reference = ledger.ID{7, byte(random.IntN(5))}
		r.EndedAttempts = []payment.EndedAttempt{{Reference: ledger.ID{8, byte(random.IntN(5))}, Credentials: payment.Credentials{CardLast4: "9999"}}}
	}
	return r
}

// found returns the ids of the transactions that Find finds, each with its field, and whether they are all.
func (f *fixture) found(org ledger.ID, text string) (ids map[ledger.ID]string, complete bool) {
	f.t.Helper()
	ids = make(map[ledger.ID]string)
	complete, err := f.index.Find(org, text, func(m searchactor.Match) bool {
		if ids[m.ID] != "" {
			f.t.Errorf("%v is found twice", m.ID)
		}
		ids[m.ID] = m.Field.String()
		return true
	})
	must(f.t, err)
	return ids, complete
}

// check compares Find with a naive search, for each value that a record has or had.
func (f *fixture) check(texts map[string]bool) {
	f.t.Helper()
	for _, org := range []ledger.ID{firstOrg, secondOrg} {
		for text := range texts {
			want := make(map[ledger.ID]string)
			for _, r := range f.booked[org] {
				search.Values(r, func(field search.Field, folded string) {
					if folded == search.Fold(text) && want[r.ID] == "" {
						want[r.ID] = field.String()
					}
				})
			}
			if got, complete := f.found(org, text); !complete || !maps.Equal(got, want) {
				f.t.Fatalf("organization %v: %q finds %v (complete: %v), want %v", org, text, got, complete, want)
			}
		}
	}
}

// Runs, stores, changes of records and crashes in a random order leave each transaction to be found by each of its values.
func TestTransactionsAreFoundByTheirValuesThroughCrashes(t *testing.T) {
	random := testseed.Random(t)
	f := open(t, random.IntN(200))
	texts := map[string]bool{"nothing": true, "order": true, oneTxID: true, collidingTxID: true}
	add := func(r *payment.Record) {
		search.Values(r, func(_ search.Field, folded string) { texts[strings.ToUpper(folded)] = true })
	}
	for n := range 120 {
		org := []ledger.ID{firstOrg, secondOrg}[random.IntN(2)]
		var records []*payment.Record
		for range random.IntN(8) {
			r := record(random)
			add(r)
			records = append(records, r)
		}
		f.book(org, records...)
		switch random.IntN(8) {
		case 0, 1:
			f.run()
		case 2: // a crash while rows are written
			f.run()
			must(t, f.index.StoreSome(org, random.IntN(30)))
			f.restart(random.IntN(200))
		case 3:
			f.restart(random.IntN(200))
		case 4, 5, 6:
			if all := f.booked[org]; len(all) > 0 {
				r, changed := all[random.IntN(len(all))], record(random)
				r.RRN, r.CardLast4, r.EndedAttempts = changed.RRN, changed.CardLast4, changed.EndedAttempts
				add(r)
				f.change(org, r)
			}
		}
		if n%20 == 0 {
			f.check(texts)
		}
	}
	f.check(texts)
	f.run()
	f.check(texts)
	f.restart(0)
	f.run()
	if entries, buckets := f.index.InMemory(); entries != 0 || buckets != 0 {
		t.Errorf("%d entries in %d buckets are in memory", entries, buckets)
	}
	f.check(texts)
}

// The two values have the same hash, and each finds only its own transaction.
func TestValuesWithTheSameHashAreToldApart(t *testing.T) {
	if search.TxID.HashOf(oneTxID) != search.TxID.HashOf(collidingTxID) {
		t.Fatal("the hashes differ")
	}
	for _, minUnstored := range []int{0, 1_000} { // 0: the entries are in rows; 1,000: they are in memory
		f := open(t, minUnstored)
		one, other := &payment.Record{Request: payment.Request{TxID: oneTxID}}, &payment.Record{Request: payment.Request{TxID: collidingTxID}}
		f.book(firstOrg, one, other)
		f.run()
		for r, text := range map[*payment.Record]string{one: oneTxID, other: collidingTxID} {
			if got, _ := f.found(firstOrg, text); !reflect.DeepEqual(got, map[ledger.ID]string{r.ID: "txid"}) {
				t.Errorf("%q finds %v", text, got)
			}
		}
		f.Close()
	}
}

// The matches are in the order of the fields. The matches in one field are ordered from the newest to the oldest.
func TestMatchesOfANarrowFieldComeFirst(t *testing.T) {
	f := open(t, 0)
	var want []ledger.ID
	byTxID := &payment.Record{Request: payment.Request{TxID: "4242"}}
	f.book(firstOrg, byTxID)
	for n := range 9 { // three in rows, three in memory, three in the tail
		r := &payment.Record{Request: payment.Request{CardLast4: "4242"}}
		f.book(firstOrg, r)
		want = append(want, r.ID)
		switch {
		case n < 3:
			f.run()
		case n == 3:
			f.restart(1_000)
		case n < 6:
			f.run()
		}
	}
	want = append(want, byTxID.ID)
	slices.Reverse(want)
	var got []ledger.ID
	complete, err := f.index.Find(firstOrg, "4242", func(m searchactor.Match) bool {
		got = append(got, m.ID)
		return len(got) < 10
	})
	must(t, err)
	if !complete || !slices.Equal(got, want) {
		t.Errorf("found %v (complete: %v), want %v", got, complete, want)
	}
}

// Entries are written only when there are many for each row, or very many.
func TestRowsWaitUntilTheyAreWorthWriting(t *testing.T) {
	f := open(t, 100)
	for n := range 101 { // 101 entries are too few, because the rows that they make raise the required number above 100
		if entries, _ := f.index.InMemory(); entries != n {
			t.Fatalf("after %d transactions %d entries are in memory", n, entries)
		}
		f.book(firstOrg, &payment.Record{Request: payment.Request{TxID: fmt.Sprint(n)}})
		f.run()
	}
	f.book(firstOrg, &payment.Record{Request: payment.Request{TxID: "last"}})
	f.run()
	if entries, buckets := f.index.InMemory(); entries != 0 || buckets != 0 {
		t.Errorf("%d entries in %d buckets are in memory", entries, buckets)
	}
	f.restart(1_000_000)
	f.index.BoundEntries(5)
	for n := range 6 {
		f.book(firstOrg, &payment.Record{Request: payment.Request{TxID: fmt.Sprint("again", n)}})
	}
	f.run()
	if entries, _ := f.index.InMemory(); entries != 0 {
		t.Errorf("%d entries are in memory although at most 5 may be", entries)
	}
}

// After a restart only the events that were not stored are indexed.
func TestStoredEventsAreNotReadAgain(t *testing.T) {
	f := open(t, 0)
	f.book(firstOrg, &payment.Record{Request: payment.Request{TxID: "one"}})
	f.run()
	f.restart(1_000)
	f.book(firstOrg, &payment.Record{Request: payment.Request{TxID: "two"}})
	f.run()
	if n := f.index.Indexed(); n != 1 {
		t.Errorf("%d transactions were indexed after the restart", n)
	}
}

// A bucket with more entries than a row may have makes several rows, which more than one Change writes.
func TestOneValueOfVeryManyTransactionsIsFound(t *testing.T) {
	f := open(t, 1_000_000)
	const n = 3 * search.MaxRowEntries
	for range n / 512 {
		var records []*payment.Record
		for range 512 {
			records = append(records, &payment.Record{Request: payment.Request{CardLast4: "4242"}})
		}
		f.book(firstOrg, records...)
	}
	f.run()
	f.index.BoundEntries(1)
	f.book(firstOrg, &payment.Record{Request: payment.Request{CardLast4: "4242"}})
	f.run()
	f.index.BoundFind(4, n+1, 0, 0)
	if got, complete := f.found(firstOrg, "4242"); len(got) != n+1 || !complete {
		t.Errorf("%d transactions are found (complete: %v)", len(got), complete)
	}
	f.index.BoundFind(3, n+1, 0, 0)
	if got, complete := f.found(firstOrg, "4242"); len(got) != n || complete {
		t.Errorf("in three rows %d transactions are found (complete: %v)", len(got), complete)
	}
}

func TestFindSaysThatABoundWasReached(t *testing.T) {
	f := open(t, 0)
	for n := range 10 { // the first six make a row each; the others stay in the tail
		f.book(firstOrg, &payment.Record{Request: payment.Request{TxID: "same"}})
		if n < 6 {
			f.run()
		}
	}
	for _, c := range []struct {
		name                                       string
		rows, candidates, tailEvents, tailCompared int
		found                                      int
		complete                                   bool
	}{
		{"everything", 6, 6, 8, 4, 10, true}, {"a row fewer", 5, 6, 8, 4, 9, false}, {"a candidate fewer", 6, 5, 8, 4, 9, false},
		{"an event fewer", 6, 6, 6, 4, 9, false}, {"a comparison fewer", 6, 6, 8, 3, 9, false}, {"nothing", 0, 0, 0, 0, 0, false},
	} {
		f.index.BoundFind(c.rows, c.candidates, c.tailEvents, c.tailCompared)
		if got, complete := f.found(firstOrg, "same"); len(got) != c.found || complete != c.complete {
			t.Errorf("%s: %d found, complete: %v", c.name, len(got), complete)
		}
	}
}

// Readers find each transaction once while entries move from memory into rows.
func TestReadersFindTransactionsWhileRowsAreStored(t *testing.T) {
	f := open(t, 3)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for last := 0; ; {
				select {
				case <-stop:
					return
				default:
				}
				n := 0
				complete, err := f.index.Find(firstOrg, "same", func(searchactor.Match) bool {
					n++
					return true
				})
				if err != nil || !complete || n < last {
					t.Errorf("%d transactions after %d, complete: %v, %v", n, last, complete, err)
					return
				}
				last = n
			}
		})
	}
	for range 60 {
		f.book(firstOrg, &payment.Record{Request: payment.Request{TxID: "same"}})
		f.run()
	}
	close(stop)
	readers.Wait()
}

func TestRowOfAnotherFormIsReported(t *testing.T) {
	f := open(t, 0)
	f.MustSubmit(&posting.Change{KVs: []posting.KV{{Org: firstOrg, Key: search.RowPrefix(), Value: []byte{9}}}})
	f.book(firstOrg, &payment.Record{Request: payment.Request{TxID: "one"}})
	if err := f.follower.Follow(); err == nil {
		t.Error("the index continues without its progress")
	}
	if _, err := f.index.Find(firstOrg, "one", func(searchactor.Match) bool { return true }); err == nil {
		t.Error("Find continues without the progress")
	}
	key, row := search.EncodePosition(1_000)
	f.MustSubmit(&posting.Change{KVs: []posting.KV{{Org: firstOrg, Key: key, Value: row}}})
	if err := f.follower.Follow(); err == nil {
		t.Error("the index continues from an event that does not exist")
	}
	f.MustSubmit(&posting.Change{KVs: []posting.KV{{Org: firstOrg, Key: key}}})
	f.run()
	f.check(map[string]bool{"one": true})
}
