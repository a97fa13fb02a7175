package notifier

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for an expected event.
const patience = 2 * time.Minute

var (
	firstOrg   = uuid.MustParse("0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a01")
	secondOrg  = uuid.MustParse("0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a02")
	startTime  = time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)
	discardLog = slog.New(slog.DiscardHandler)
)

// addressBook has the addresses of destinations. It implements actors.Addresses.
type addressBook struct {
	mu        sync.Mutex
	addresses map[ledger.ID]actors.Address // guarded by mu
}

func (b *addressBook) Destination(ledger.ID, int64, money.Env, ledger.ID) (ledger.ID, bool) {
	return ledger.ID{}, false
}

func (b *addressBook) Address(_, to ledger.ID) (actors.Address, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, ok := b.addresses[to]
	return a, ok
}

func (b *addressBook) set(to ledger.ID, a actors.Address) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addresses[to] = a
}

func (b *addressBook) remove(to ledger.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.addresses, to)
}

// fixture is a notifier with its journal, on a clock that the test moves or, on request, on the
// machine's clock.
type fixture struct {
	*testkit.World
	*Service
	t                 testing.TB
	addresses         *addressBook
	writeNotification func(dst []byte, org ledger.ID, n *posting.Notice) (actors.NotificationBody, error)
	notifyOperators   func(org, to ledger.ID, body, reached []byte) (Attempt, []byte, time.Duration)
	mailReceipt       func(org, transaction ledger.ID) Attempt
	retention         time.Duration
	observe           func(posting.Channel, bool, time.Duration)
	beforeResume      func(*fixture) // called before Resume at a start
}

func newFixture(t testing.TB, settings ...func(*fixture)) *fixture {
	t.Helper()
	f := &fixture{World: testkit.NewWorld(t, startTime), t: t, addresses: &addressBook{addresses: make(map[ledger.ID]actors.Address)}, writeNotification: writeBody}
	for _, setting := range settings {
		setting(f)
	}
	f.start()
	t.Cleanup(f.stop)
	return f
}

func onRealClock(f *fixture) {
	f.JournalOptions.Clock, f.RuntimeOptions.Clock = clock.Real{}, clock.Real{}
}

// writeBody writes the body of a notification of the tests: it is the same at each attempt.
func writeBody(dst []byte, org ledger.ID, n *posting.Notice) (actors.NotificationBody, error) {
	data := fmt.Appendf(dst, `{"org":"%v","source":"%v","body":"%x"}`, org, n.Source.ID, n.Body)
	return actors.NotificationBody{Type: "transaction.charged", Data: data}, nil
}

// WriteNotification implements actors.NotificationWriter.
func (f *fixture) WriteNotification(dst []byte, org ledger.ID, n *posting.Notice) (actors.NotificationBody, error) {
	return f.writeNotification(dst, org, n)
}

func (f *fixture) start() {
	f.t.Helper()
	f.Open()
	var err error
	f.Service, err = New(Options{
		Runtime: f.Runtime, Addresses: f.addresses, Writers: map[ledger.Kind]actors.NotificationWriter{ledger.Transaction: f},
		NotifyOperators: f.notifyOperators, MailReceipt: f.mailReceipt, AllowPrivate: true, Retention: f.retention, Observe: f.observe,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.Runtime.Start(func(posting.DueItem) bool { return false })
	if f.beforeResume != nil {
		f.beforeResume(f)
	}
	f.Resume()
}

func (f *fixture) stop() {
	f.t.Helper()
	mustReturn(f.t, "closed", f.Service.Close)
	mustReturn(f.t, "stopped", f.World.Close)
}

func (f *fixture) restart() {
	f.t.Helper()
	f.stop()
	f.start()
}

// quiesce returns when no work is in progress.
func (f *fixture) quiesce() {
	f.t.Helper()
	mustReturn(f.t, "at rest", f.Runtime.Quiesce)
}

// advance moves the clock.
func (f *fixture) advance(d time.Duration) {
	f.t.Helper()
	f.quiesce()
	mustReturn(f.t, "passed", func() {
		if err := f.Runtime.Advance(f.Clock.Now().Add(d)); err != nil {
			f.t.Error(err)
		}
	})
}

// submit makes a change durable.
func (f *fixture) submit(c *posting.Change) {
	f.t.Helper()
	done := make(chan error, 1)
	f.Journal.Submit(c, func(r posting.Receipt) { done <- r.Err })
	if err := receiveFrom(f.t, "durable", done); err != nil {
		f.t.Fatal(err)
	}
}

// notify books an event with a notice for each destination, in one Change.
func (f *fixture) notify(org ledger.ID, channel posting.Channel, to ...ledger.ID) (ids []ID) {
	f.t.Helper()
	c := &posting.Change{Author: ledger.BySystem.Author()}
	for i, to := range to {
		c.Steps = append(c.Steps, posting.Step{
			Org: org, Source: ledger.Source{Kind: ledger.Transaction, ID: uuid.New()}, Record: []byte{1},
			Events:  []ledger.Event{{Name: "a", To: "b"}},
			Notices: []posting.Notice{{Channel: channel, To: to, Body: fmt.Appendf(nil, "n%d", i)}},
		})
	}
	f.submit(c)
	for i := range c.Steps {
		ids = append(ids, ID{c.Steps[i].Events[0].Booked, channel})
	}
	return ids
}

// notifyOne books one event with a webhook notice.
func (f *fixture) notifyOne(to ledger.ID) ID {
	f.t.Helper()
	return f.notify(firstOrg, posting.Webhook, to)[0]
}

// notifyMany books n events with webhook notices.
func (f *fixture) notifyMany(to ledger.ID, n int) (ids []ID) {
	f.t.Helper()
	for chunk := range slices.Chunk(slices.Repeat([]ledger.ID{to}, n), 500) {
		ids = append(ids, f.notify(firstOrg, posting.Webhook, chunk...)...)
	}
	return ids
}

// destinationOf returns a new destination whose notices go to the receiver.
func (f *fixture) destinationOf(r *receiver) ledger.ID {
	to := uuid.New()
	f.addresses.set(to, actors.Address{URL: r.URL, Secret: "s"})
	return to
}

func (f *fixture) delivery(id ID) *Delivery {
	f.t.Helper()
	d, err := f.Read(firstOrg, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return d
}

// wantDelivery checks a delivery's state.
func (f *fixture) wantDelivery(id ID, state State, attempts int) *Delivery {
	f.t.Helper()
	d := f.delivery(id)
	if d.State != state || len(d.Attempts) != attempts {
		f.t.Errorf("the delivery is %v after %d attempts, want %v after %d", d.State, len(d.Attempts), state, attempts)
	}
	return d
}

// rows returns the keys of an organization's KVs with the given first byte.
func (f *fixture) rows(org ledger.ID, kind byte) (keys [][]byte) {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	err := v.KVKeys(org, []byte{kind}, nil, func(key []byte) ([]byte, bool, error) {
		keys = append(keys, slices.Clone(key))
		return nil, true, nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return keys
}

// wantRows checks how many rows of each kind there are.
func (f *fixture) wantRows(want map[byte]int) {
	f.t.Helper()
	for _, kind := range []byte{rowAcknowledgements, rowDeliveries, rowRetries, rowParked, rowBulletinKeys, rowNotices} {
		if got := len(f.rows(firstOrg, kind)); got != want[kind] {
			f.t.Errorf("%d rows of kind %c, want %d", got, kind, want[kind])
		}
	}
}

// arrival is a notification that a receiver got.
type arrival struct {
	EventID   string          `json:"event_id"`
	Timestamp int64           `json:"timestamp"`
	Type      string          `json:"type"`
	Data      json.RawMessage `json:"data"`

	body     string
	header   http.Header
	nth      int // number of this arrival among those of its event, from 1
	nthOfAll int // number of this arrival among all, from 1
	status   int
}

// gate holds responses back until it is opened.
type gate struct {
	once   sync.Once
	opened chan struct{}
}

func newGate() *gate { return &gate{opened: make(chan struct{})} }

func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }

func (g *gate) wait() { <-g.opened }

// releaseOne releases one response.
func (g *gate) releaseOne(t testing.TB) {
	t.Helper()
	select {
	case g.opened <- struct{}{}:
	case <-time.After(patience):
		t.Fatalf("nobody waits at the gate within %v", patience)
	}
}

// fillPool fills a pool with jobs that wait until the gate is open.
func (f *fixture) fillPool(g *gate, run func(func()) error, jobs int) {
	f.t.Helper()
	for range jobs {
		if err := run(g.wait); err != nil {
			f.t.Fatal(err)
		}
	}
	f.t.Cleanup(g.open) // the gate opens before the fixture is stopped
}

// plant writes a row into an organization's delivery rows.
func (f *fixture) plant(org ledger.ID, row, value []byte) {
	f.t.Helper()
	f.submit(&posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, KVs: []posting.KV{{Org: org, Key: row, Value: value}}})
}

// plantRemoval stores a time before which deliveries were removed, as a retention run does.
func (f *fixture) plantRemoval(before ledger.Micros) {
	f.t.Helper()
	view := f.Journal.View()
	defer view.Close()
	d := newDraft()
	if err := d.recordRemoval(view, firstOrg, before); err != nil {
		f.t.Fatal(err)
	}
	d.change.MustRecord = true
	f.submit(&d.change)
}

// noResponse in place of a status makes a receiver never respond.
const noResponse = 0

// receiver is a merchant's server.
type receiver struct {
	*httptest.Server
	closing chan struct{}

	mu            sync.Mutex
	arrivals      []*arrival     // guarded by mu
	perEvent      map[string]int // guarded by mu: number of arrivals by event_id
	unanswered    int            // guarded by mu: requests without a response yet
	maxUnanswered int            // guarded by mu: maximum of unanswered
}

// startReceiver starts a receiver that responds to each notification with the status that answer returns. That
// function may wait for the gates, which are opened at the end of the test.
func startReceiver(t testing.TB, answer func(*arrival) int, gates ...*gate) *receiver {
	r := &receiver{perEvent: make(map[string]int), closing: make(chan struct{})}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		received := &arrival{header: request.Header}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		received.body = string(body)
		if err := json.Unmarshal(body, received); err != nil {
			t.Errorf("body %q: %v", body, err)
		}
		r.arrived(received)
		defer r.answered()
		received.status = answer(received)
		if received.status == noResponse {
			select {
			case <-request.Context().Done():
			case <-r.closing:
			}
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(received.status)
	}))
	t.Cleanup(func() {
		close(r.closing)
		for _, g := range gates {
			g.open()
		}
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

func (r *receiver) arrived(a *arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.perEvent[a.EventID]++
	r.arrivals = append(r.arrivals, a)
	a.nth, a.nthOfAll = r.perEvent[a.EventID], len(r.arrivals)
	r.unanswered++
	r.maxUnanswered = max(r.maxUnanswered, r.unanswered)
}

func (r *receiver) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unanswered--
}

func (r *receiver) got() []*arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.arrivals)
}

func (r *receiver) count() int { return len(r.got()) }

// events returns how often each event_id arrived.
func (r *receiver) events() map[string]int {
	n := make(map[string]int)
	for _, a := range r.got() {
		n[a.EventID]++
	}
	return n
}

// wantOnce checks that each of the deliveries arrived once, and no other.
func (r *receiver) wantOnce(t testing.TB, org ledger.ID, ids []ID) {
	t.Helper()
	got := r.events()
	for _, id := range ids {
		if n := got[EventID(org, id).String()]; n != 1 {
			t.Errorf("event %v came %d times, want once", id, n)
			return
		}
	}
	if len(got) != len(ids) {
		t.Errorf("%d events came, want %d", len(got), len(ids))
	}
}

func alwaysStatus(status int) func(*arrival) int { return func(*arrival) int { return status } }

// mustReturn fails the test if fn does not return in time.
func mustReturn(t testing.TB, what string, fn func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); fn() }()
	receiveFrom(t, what, done)
}

// waitFor waits until holds returns true.
func waitFor(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	timeout := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func receiveFrom[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatalf("%s: not within %v", what, patience)
		panic("unreachable")
	}
}
