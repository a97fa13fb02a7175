package actors_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/posting"
	"mizan/posting/store"
)

var (
	org   = uuid.MustParse("7f2c0d5e-35b1-4a39-9f64-5d2b0c9b1e01")
	start = time.Date(2026, 9, 3, 10, 0, 0, 0, time.UTC)
)

// fixture is a runtime on a real store, with one registry, whose actors are probes.
type fixture struct {
	*actors.Runtime
	clock      *clock.Manual
	registry   *actors.Registry[actors.RecordKey]
	log        *bytes.Buffer
	probesMade atomic.Int64  // how many probes were made
	gate       chan struct{} // if set, the journal waits for it before each write
	woken      chan string   // for each record that was woken: its id and when
	ignoreDue  atomic.Bool   // if set, due work changes nothing
}

// open returns a running fixture whose registry keeps idle probes for a duration.
func open(t *testing.T, keepIdle time.Duration) *fixture { return openWithHandling(t, keepIdle, 0) }

func openWithHandling(t *testing.T, keepIdle, handling time.Duration) *fixture {
	world := testkit.NewWorld(t, start)
	f := &fixture{clock: world.Clock, log: new(bytes.Buffer), woken: make(chan string, 1_000)}
	log := slog.New(slog.NewTextHandler(f.log, nil))
	world.JournalOptions.Log, world.RuntimeOptions.Log, world.RuntimeOptions.Handling = log, log, handling
	world.JournalOptions.WrapLog = func(l posting.Log) posting.Log { return gatedLog{l, f} }
	world.Open()
	f.Runtime = world.Runtime
	f.registry = actors.NewRegistry(f.Runtime, "probe", keepIdle, func(k actors.RecordKey) actors.Behaviour {
		f.probesMade.Add(1)
		return &probe{fixture: f, key: k}
	})
	f.HandleDue(ledger.Settlement, func(d actors.Due) { f.registry.Tell(d.Key, d) })
	f.Start(func(posting.DueItem) bool { return false })
	return f
}

// gatedLog is the log of a journal whose writes wait for the fixture's gate.
type gatedLog struct {
	posting.Log
	fixture *fixture
}

func (g gatedLog) Apply(group *store.Group) error {
	if g.fixture.gate != nil {
		<-g.fixture.gate
	}
	return g.Log.Apply(group)
}

// probe counts, writes or panics, as its messages say.
type probe struct {
	fixture  *fixture
	key      actors.RecordKey
	version  uint64
	reply    chan error // gets the result of the Change in progress
	panicsIn string     // the method that panics, in lower case; empty: none
}

// The messages of this file's tests. The comments say what a probe does when it receives them.
type (
	count struct{ n *atomic.Int64 } // add one to n
	write struct {                  // commit a Change of its record
		due   time.Duration // when the record is due afterwards; 0: never
		reply chan error
	}
	explode struct { // panic with a secret
		secret string
		reply  chan error
	}
)

func (m *write) Refuse(err error)   { m.reply <- err }
func (m *explode) Refuse(err error) { m.reply <- err }

func (p *probe) Receive(c *actors.Context, message any) {
	switch m := message.(type) {
	case count:
		m.n.Add(1)
	case *write:
		p.reply = m.reply
		p.write(c, m.due)
	case *explode:
		panic(m.secret)
	case actors.Due:
		p.fixture.woken <- fmt.Sprintf("%v at %v", p.key.ID, c.Now().Sub(start))
		if !p.fixture.ignoreDue.Load() {
			p.write(c, 0)
		}
	default:
		p.receiveHostile(c, message)
	}
}

func (p *probe) write(c *actors.Context, dueAfter time.Duration) {
	if p.version == 0 {
		v := c.Runtime.Journal.View()
		r, _, _ := v.Record(org, ledger.Source{Kind: ledger.Settlement, ID: p.key.ID})
		v.Close()
		p.version = r.Header.Version
	}
	step := posting.Step{Org: org, Source: ledger.Source{Kind: ledger.Settlement, ID: p.key.ID}, Expect: p.version, Record: []byte{1},
		Events: []ledger.Event{{Name: "w", To: "x"}}}
	if dueAfter != 0 {
		step.Due = ledger.MicrosOf(c.Now().Add(dueAfter))
	}
	c.Commit(&posting.Change{Author: ledger.BySystem.Author(), Steps: []posting.Step{step}})
}

func (p *probe) Committed(_ *actors.Context, _ *posting.Change, r posting.Receipt) {
	if p.panicsIn == "committed" {
		panic(p.panicsIn)
	}
	if r.Err == nil {
		p.version = r.Headers[0].Version
	}
	if p.reply != nil {
		p.reply <- r.Err
		p.reply = nil
	}
}

func (p *probe) Idle() bool {
	if p.panicsIn == "idle" {
		p.panicsIn = ""
		panic("idle")
	}
	return true
}

func (p *probe) Failed(*actors.Context) {
	if p.panicsIn == "failed" {
		panic(p.panicsIn)
	}
}

func key(n byte) actors.RecordKey { return actors.RecordKey{Org: org, ID: uuid.UUID{n}} }

// Each round starts actors that the previous round has stopped, and within a round actors stop
// whenever their mailboxes are empty.
func TestNoMessageIsLostWhileActorsComeAndGo(t *testing.T) {
	f := open(t, 0)
	var handled atomic.Int64
	const rounds, senders, messagesEach, keys = 8, 16, 250, 4
	for round := range rounds {
		var sending sync.WaitGroup
		for sender := range senders {
			sending.Go(func() {
				for i := range messagesEach {
					f.registry.Tell(key(byte(i+sender)%keys), count{&handled})
				}
			})
		}
		sending.Wait()
		f.Quiesce()
		if n, sent := handled.Load(), int64((round+1)*senders*messagesEach); n != sent {
			t.Errorf("%d of %d messages were handled", n, sent)
		}
		if f.ActorsWithWork() != 0 {
			t.Errorf("%d actors stay without work", f.ActorsWithWork())
		}
	}
	if n := f.probesMade.Load(); n < rounds*keys {
		t.Errorf("only %d activations: nothing came and went", n)
	}
}

func TestPanicIsAnsweredAndLoggedWithoutItsValueAndTheActorRebuilt(t *testing.T) {
	f := open(t, time.Hour)
	reply := make(chan error, 1)
	if err := f.registry.Command(key(1), &explode{secret: "4242424242424242", reply: reply}); err != nil {
		t.Fatal(err)
	}
	var refusal *ledger.Refusal
	if err := <-reply; !errors.As(err, &refusal) || refusal.Code != ledger.Internal {
		t.Errorf("answered %v", err)
	}
	if err := f.registry.Command(key(1), &write{reply: reply}); err != nil {
		t.Fatal(err)
	}
	if err := <-reply; err != nil {
		t.Errorf("after a panic: %v", err)
	}
	f.Quiesce()
	if strings.Contains(f.log.String(), "4242424242424242") || !strings.Contains(f.log.String(), "panic") {
		t.Errorf("the log: %s", f.log)
	}
	if f.probesMade.Load() != 2 {
		t.Errorf("%d behaviours were made, want 2", f.probesMade.Load())
	}
}

func TestQueueOfCommandsDuringAChangeIsBounded(t *testing.T) {
	f := open(t, time.Hour)
	f.gate = make(chan struct{})
	const extra = 5
	replies := make(chan error, actors.MaxWaiting+1+extra)
	for range actors.MaxWaiting + 1 + extra {
		if err := f.registry.Command(key(1), &write{reply: replies}); err != nil {
			t.Fatal(err)
		}
	}
	for range extra {
		if err := <-replies; !errors.Is(err, actors.ErrBusy) {
			t.Fatalf("beyond the bound: %v", err)
		}
	}
	close(f.gate)
	for range actors.MaxWaiting + 1 {
		if err := <-replies; err != nil {
			t.Fatal(err)
		}
	}
}

func TestAdvanceStopsAtEachDueInstantInOrder(t *testing.T) {
	f := open(t, 0)
	reply := make(chan error, 1)
	for _, n := range []byte{3, 1, 2} {
		if err := f.registry.Command(key(n), &write{due: time.Duration(n) * time.Hour, reply: reply}); err != nil {
			t.Fatal(err)
		}
		if err := <-reply; err != nil {
			t.Fatal(err)
		}
	}
	f.Quiesce()
	if err := f.Advance(start.Add(150 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	want := []string{"01000000-0000-0000-0000-000000000000 at 1h0m0s", "02000000-0000-0000-0000-000000000000 at 2h0m0s"}
	for _, w := range want {
		select {
		case got := <-f.woken:
			if got != w {
				t.Errorf("woken: %s, want %s", got, w)
			}
		default:
			t.Errorf("not woken: %s", w)
		}
	}
	if n := len(f.woken); n != 0 {
		t.Errorf("%d woken too early", n)
	}
	if got := f.clock.Now(); !got.Equal(start.Add(150 * time.Minute)) {
		t.Errorf("the clock shows %v", got)
	}
	if err := f.Advance(start); !errors.Is(err, clock.ErrBackwards) {
		t.Errorf("moved back: %v", err)
	}
}
