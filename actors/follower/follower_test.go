package follower_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"mizan/actors/follower"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/payment/codec"
	"mizan/posting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	firstOrg  = ledger.ID{1}
	secondOrg = ledger.ID{2}
	start     = time.Date(2026, 11, 19, 10, 0, 0, 0, time.UTC)
)

// log is a consumer that keeps the seqs of all events that it gets, and takes nothing while err is set.
type log struct {
	t       testing.TB
	name    string
	seqs    map[ledger.ID][]uint64
	last    map[ledger.ID]uint64
	chunks  int
	stored  int
	err     error
	records []*payment.Record // transactions of the last chunk
}

func newLog(t testing.TB, name string) *log {
	return &log{t: t, name: name, seqs: make(map[ledger.ID][]uint64), last: make(map[ledger.ID]uint64)}
}

func (l *log) Name() string { return l.name }

func (l *log) Position(_ *posting.View, org ledger.ID) (uint64, error) { return l.last[org], nil }

func (l *log) Consume(c *follower.Chunk) error {
	if l.err != nil {
		return l.err
	}
	l.chunks++
	l.records = l.records[:0]
	for i := range c.Events {
		e := &c.Events[i]
		if e.Seq <= l.last[c.Org] || e.Seq > c.Last || e.Source.Kind != ledger.Transaction {
			l.t.Errorf("%s gets event %d of kind %c after %d, in a chunk up to %d", l.name, e.Seq, e.Source.Kind, l.last[c.Org], c.Last)
		}
		l.seqs[c.Org] = append(l.seqs[c.Org], e.Seq)
		transaction, err := c.Transaction(e.Source.ID)
		must(l.t, err)
		r, err := transaction.Record()
		must(l.t, err)
		if r.ID != e.Source.ID || transaction.Header.LastSeq < e.Seq {
			l.t.Errorf("event %d of %v comes with the record of %v as of event %d", e.Seq, e.Source.ID, r.ID, transaction.Header.LastSeq)
		}
		l.records = append(l.records, r)
	}
	l.last[c.Org] = c.Last
	return nil
}

func (l *log) Flush() error {
	l.stored++
	return nil
}

type fixture struct {
	*testkit.World
	t        testing.TB
	follower *follower.Follower
	booked   map[ledger.ID][]uint64 // seqs of the events of transactions
}

func open(t testing.TB, consumers ...*log) *fixture {
	t.Helper()
	f := &fixture{World: testkit.NewWorld(t, start), t: t, booked: make(map[ledger.ID][]uint64)}
	f.Open()
	f.follower = follower.New(f.Runtime)
	for _, c := range consumers {
		f.follower.Add(c)
	}
	return f
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// book stores transactions of two events each, and a blocklist entry of one event.
func (f *fixture) book(org ledger.ID, transactions int) {
	f.t.Helper()
	for transactions > 0 {
		batch := min(transactions, 100)
		transactions -= batch
		c := &posting.Change{Author: ledger.BySystem.Author()}
		for range batch {
			r := &payment.Record{ID: ledger.TimedID(f.Clock.Now(), uuid.New()), Partner: 1, Status: payment.Charged}
			c.Steps = append(c.Steps, posting.Step{
				Org: org, Source: ledger.Source{Kind: ledger.Transaction, ID: r.ID}, Record: codec.Encode(r),
				Events: []ledger.Event{{Name: string(payment.Create), To: string(payment.Created)}, {Name: string(payment.Settle), From: string(payment.Charging), To: string(r.Status)}},
			})
		}
		f.MustSubmit(c)
		for i := range c.Steps {
			for _, e := range c.Steps[i].Events {
				f.booked[org] = append(f.booked[org], e.Seq)
			}
		}
	}
	f.bookOther(org)
}

// bookOther stores an event of a record that is no transaction.
func (f *fixture) bookOther(org ledger.ID) {
	f.t.Helper()
	f.MustSubmit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{{
		Org: org, Source: ledger.Source{Kind: ledger.Block, ID: uuid.New()}, Record: []byte{1}, Events: []ledger.Event{{Name: "create", To: "active"}},
	}}})
}

func (f *fixture) want(l *log) {
	f.t.Helper()
	for org, seqs := range f.booked {
		if !slices.Equal(l.seqs[org], seqs) {
			f.t.Errorf("%s got %d events of organization %v, want %d", l.name, len(l.seqs[org]), org, len(seqs))
		}
	}
}

func TestEachConsumerGetsEachEventOnceInOrder(t *testing.T) {
	random := testseed.Random(t)
	first, second := newLog(t, "first"), newLog(t, "second")
	f := open(t, first, second)
	for range 40 {
		f.book([]ledger.ID{firstOrg, secondOrg}[random.IntN(2)], random.IntN(900))
		first.err, second.err = nil, nil
		switch random.IntN(6) {
		case 0:
			first.err = errors.New("a fault")
		case 1:
			second.err = errors.New("a fault")
		}
		var err error
		switch random.IntN(3) {
		case 0:
			err = f.follower.Follow()
		case 1:
			err = follower.RunFor(f.follower, func(uint64) time.Duration { return time.Nanosecond })
		case 2:
			if err := f.follower.CatchUp(first, firstOrg); err != nil && first.err == nil {
				t.Error(err)
			}
		}
		if err != nil && first.err == nil && second.err == nil {
			t.Error(err)
		}
	}
	first.err, second.err = nil, nil
	f.bookOther(firstOrg)
	must(t, f.follower.Follow())
	f.want(first)
	f.want(second)
	if f.follower.Lag(first) != 0 || f.follower.Lag(second) != 0 {
		t.Error("a consumer that has all events lags")
	}
}

// A consumer that was behind and has reached the other's position gets the same chunks from there on.
func TestConsumerThatWasBehindJoinsTheOther(t *testing.T) {
	old, added := newLog(t, "old"), newLog(t, "added")
	f := open(t, old)
	f.book(firstOrg, follower.ChunkEvents) // two events each, and one event of the blocklist entry: one event more than two chunks
	must(t, f.follower.Follow())
	f.follower = follower.New(f.Runtime)
	f.follower.Add(old)
	f.follower.Add(added)
	f.book(firstOrg, follower.ChunkEvents)
	must(t, follower.RunFor(f.follower, func(uint64) time.Duration { return time.Nanosecond }))
	must(t, follower.RunFor(f.follower, func(uint64) time.Duration { return time.Nanosecond }))
	if old.last[firstOrg] != 3*follower.ChunkEvents+1 || added.last[firstOrg] != follower.ChunkEvents {
		t.Errorf("after a turn of each, the old consumer is at %d, the added one at %d", old.last[firstOrg], added.last[firstOrg])
	}
	must(t, f.follower.Follow())
	f.want(old)
	f.want(added)
	chunks := added.chunks
	f.book(firstOrg, 100)
	must(t, f.follower.Follow())
	f.want(old)
	f.want(added)
	if added.chunks != chunks+1 || len(old.records) != 200 {
		t.Errorf("the added consumer got %d chunks, with %d events", added.chunks-chunks, len(old.records))
	}
	for i := range old.records {
		if old.records[i] != added.records[i] {
			t.Fatal("a record was decoded for each consumer")
		}
	}
}

// An old consumer gets new events while another one still reads the past.
func TestConsumersTakeTurns(t *testing.T) {
	old, added := newLog(t, "old"), newLog(t, "added")
	f := open(t, old)
	f.book(firstOrg, 2*follower.ChunkEvents)
	must(t, f.follower.Follow())
	f.follower = follower.New(f.Runtime)
	f.follower.Add(added)
	f.follower.Add(old)
	f.book(firstOrg, 1)
	for range 2 {
		must(t, follower.RunFor(f.follower, func(uint64) time.Duration { return time.Nanosecond }))
	}
	f.want(old)
	if f.follower.Lag(old) != 0 || f.follower.Lag(added) != 4*follower.ChunkEvents+1+3-follower.ChunkEvents {
		t.Errorf("the consumers lag by %d and %d events", f.follower.Lag(old), f.follower.Lag(added))
	}
}

// The error of one consumer is reported, and the others get their events.
func TestFailureOfOneConsumerDoesNotStopTheOthers(t *testing.T) {
	broken, sound := newLog(t, "broken"), newLog(t, "sound")
	broken.err = errors.New("a fault")
	f := open(t, broken, sound)
	f.book(firstOrg, 2*follower.ChunkEvents)
	f.book(secondOrg, 1)
	if err := f.follower.Follow(); err == nil || fmt.Sprint(err) != "broken: a fault\nbroken: a fault" {
		t.Errorf("the error is %v", err)
	}
	f.want(sound)
	if broken.chunks != 0 || sound.stored != 1 || f.follower.Lag(broken) != 4*follower.ChunkEvents+1+3 || f.follower.Lag(sound) != 0 {
		t.Errorf("%d chunks; %d stores; lags of %d and %d", broken.chunks, sound.stored, f.follower.Lag(broken), f.follower.Lag(sound))
	}
	broken.err = nil
	must(t, f.follower.Follow()) // although nothing new was booked
	f.want(broken)
}

// A run whose time is over leaves the rest to the next run, which begins with another organization.
func TestRunsTakeTurnsAmongOrganizations(t *testing.T) {
	l := newLog(t, "log")
	f := open(t, l)
	for _, org := range []ledger.ID{firstOrg, secondOrg} {
		f.book(org, 2*follower.ChunkEvents-1)
		f.bookOther(org)
	}
	runs := 0
	for ; f.follower.Lag(l) > 0 || runs == 0; runs++ {
		must(t, follower.RunFor(f.follower, func(uint64) time.Duration { return time.Nanosecond }))
		if lag := f.follower.Lag(l); lag != uint64(7-runs)*follower.ChunkEvents {
			t.Fatalf("after %d runs %d events are left", runs+1, lag)
		}
		if runs == 1 && (l.last[firstOrg] != follower.ChunkEvents || l.last[secondOrg] != follower.ChunkEvents) {
			t.Errorf("after two runs the organizations are at %d and %d", l.last[firstOrg], l.last[secondOrg])
		}
	}
	f.want(l)
}

// A run is short under load. At the start, and when the load is over, it is longer, to catch up.
func TestRunsAreShortUnderLoad(t *testing.T) {
	f := open(t, newLog(t, "log"))
	var booked []uint64
	run := func() {
		t.Helper()
		must(t, follower.RunFor(f.follower, func(n uint64) time.Duration {
			booked = append(booked, n)
			return time.Hour
		}))
	}
	f.book(firstOrg, 100)
	run()
	f.book(firstOrg, 50)
	f.book(secondOrg, 20)
	run()
	run() // nothing is new
	if !slices.Equal(booked, []uint64{0, 142}) {
		t.Errorf("timeFor got %v booked events", booked)
	}
	for events, want := range map[uint64]time.Duration{0: 250 * time.Millisecond, 2_500: 250 * time.Millisecond, 2_501: 20 * time.Millisecond, 90_000: 20 * time.Millisecond} {
		if got := follower.TimeFor(events); got != want {
			t.Errorf("after %d events a run takes %v, want %v", events, got, want)
		}
	}
}

// CatchUp passes a few events of the organization to those consumers that wait for them. It leaves many events to the runs.
func TestCatchUpReadsOnlyAFewEvents(t *testing.T) {
	first, second := newLog(t, "first"), newLog(t, "second")
	f := open(t, first, second)
	f.book(firstOrg, 10)
	f.book(secondOrg, 10)
	must(t, f.follower.CatchUp(first, firstOrg))
	if len(first.seqs[firstOrg]) != 20 || len(second.seqs[firstOrg]) != 20 || len(first.seqs[secondOrg]) != 0 {
		t.Errorf("the consumers got %d and %d events, and %d of the other organization", len(first.seqs[firstOrg]), len(second.seqs[firstOrg]), len(first.seqs[secondOrg]))
	}
	f.book(firstOrg, follower.ChunkEvents/2-1) // with the event of the blocklist entry, one event less than a chunk
	f.bookOther(firstOrg)
	must(t, f.follower.CatchUp(second, firstOrg))
	f.book(firstOrg, follower.ChunkEvents/2)
	must(t, f.follower.CatchUp(second, firstOrg))
	if got, want := len(second.seqs[firstOrg]), 20+follower.ChunkEvents-2; got != want {
		t.Errorf("the second consumer got %d events, want %d", got, want)
	}
	second.err = errors.New("a fault")
	f.bookOther(secondOrg)
	must(t, f.follower.CatchUp(first, secondOrg))
	if err := f.follower.CatchUp(second, secondOrg); err == nil {
		t.Error("the consumer's error is lost")
	}
}
