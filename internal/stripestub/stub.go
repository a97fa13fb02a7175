package stripestub

import (
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"mizan/internal/clock"
)

// Defaults of Options.
const (
	DefaultSecretKey      = "sk_test_stripestub"
	DefaultPublishableKey = "pk_test_stripestub"
	// DefaultAPIVersion is the version of stripe-go v85.0.0, so that its package webhook accepts the events.
	DefaultAPIVersion  = "2026-03-25.dahlia"
	DefaultAsyncDelay  = time.Minute
	DefaultSearchDelay = time.Minute
	// DefaultReferenceKey is the member of metadata under which an adapter stores its own reference.
	DefaultReferenceKey = "reference"
)

// Options are the properties of a stub and of its Stripe account. Only Clock is required.
type Options struct {
	Clock          clock.Clock
	SecretKey      string // empty: DefaultSecretKey
	PublishableKey string // empty: DefaultPublishableKey
	APIVersion     string // of the account, for events and for requests without Stripe-Version; empty: DefaultAPIVersion
	// RawCards says that the account may send card numbers with its secret key. Otherwise such a request is refused.
	RawCards bool
	// Fee computes Stripe's fee for a captured charge, in minor units; nil: 2.9% (rounded half up) and 30 minor units.
	Fee func(amount int64, currency string) int64
	// DisputeFee is the fee for a dispute, in minor units of the charge's currency; 0: 1500.
	DisputeFee int64
	// AsyncDelay is the time after which a pending refund ends, a refund fails, a card's dispute opens and a slow payment
	// ends; 0: DefaultAsyncDelay.
	AsyncDelay time.Duration
	// SearchDelay is the time after which the search shows a change; 0: DefaultSearchDelay.
	SearchDelay time.Duration
	// ReferenceKey is the key in metadata under which Movements finds objects; empty: DefaultReferenceKey.
	ReferenceKey string
}

// withDefaults returns the options with the defaults in place of zero values.
func (o Options) withDefaults() Options {
	set(&o.SecretKey, DefaultSecretKey)
	set(&o.PublishableKey, DefaultPublishableKey)
	set(&o.APIVersion, DefaultAPIVersion)
	set(&o.ReferenceKey, DefaultReferenceKey)
	set(&o.AsyncDelay, DefaultAsyncDelay)
	set(&o.SearchDelay, DefaultSearchDelay)
	set(&o.DisputeFee, 1500)
	if o.Fee == nil {
		o.Fee = func(amount int64, _ string) int64 { return (amount*29+500)/1000 + 30 }
	}
	return o
}

// set replaces a zero value by its default.
func set[T comparable](value *T, byDefault T) {
	var zero T
	if *value == zero {
		*value = byDefault
	}
}

// Stub is a running stand-in for Stripe's API. Its methods may be called by any goroutine.
type Stub struct {
	// URL is the address of the API without a slash at its end, for example http://127.0.0.1:40001. It stays the same over
	// Disconnect and Reconnect.
	URL string

	tb      testing.TB
	options Options

	mu               sync.Mutex
	objects          map[string]resource // all objects that have an id
	intents          []*intent           // this and the following lists: oldest first
	charges          []*charge
	refunds          []*refund
	payouts          []*payout
	disputes         []*dispute
	entries          []*entry // balance transactions
	events           []*event
	jobs             []job
	keys             map[string]*storedAnswer // by idempotency key
	requests         []Request
	faults           []*Planned
	webhooks         []*Webhook
	current          *call // being executed; nil while time or a test changes the state
	isSlow           bool  // confirmed payments stay in processing for AsyncDelay
	payoutsForbidden bool

	serving sync.Mutex // guards server
	server  *http.Server
}

// resource is an object that has an id. json returns its representation without expansions.
type resource interface{ json() object }

// object is a JSON object. Amounts in it are int64, in minor units as Stripe defines them.
type object = map[string]any

// New starts a stub on a free loopback port. It ends with the test.
func New(tb testing.TB, options Options) *Stub {
	tb.Helper()
	if options.Clock == nil {
		tb.Fatal("stripestub: Options.Clock is required")
	}
	s := &Stub{tb: tb, options: options.withDefaults(), objects: make(map[string]resource), keys: make(map[string]*storedAnswer)}
	s.listen("127.0.0.1:0")
	tb.Cleanup(s.Disconnect)
	return s
}

func (s *Stub) listen(address string) {
	s.tb.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.URL = "http://" + listener.Addr().String()
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: time.Minute}
	go func(server *http.Server) { _ = server.Serve(listener) }(s.server)
}

// Disconnect closes the listener and all connections: from now on, connections are refused. The state stays. Calls that a fault
// holds are released and executed, but their answers are lost. Calling Disconnect again has no effect.
func (s *Stub) Disconnect() {
	s.serving.Lock()
	defer s.serving.Unlock()
	if s.server == nil {
		return
	}
	s.mu.Lock()
	for _, planned := range s.faults {
		planned.Release()
	}
	s.mu.Unlock()
	_ = s.server.Close()
	s.server = nil
}

// Reconnect listens at the same address again, after Disconnect.
func (s *Stub) Reconnect() {
	s.tb.Helper()
	s.serving.Lock()
	defer s.serving.Unlock()
	if s.server == nil {
		s.listen(s.URL[len("http://"):])
	}
}

// lock locks the state and does what is due.
func (s *Stub) lock() {
	s.mu.Lock()
	now := s.now()
	s.runJobs(func(j job) bool { return !j.due.After(now) })
}

func (s *Stub) now() time.Time { return s.options.Clock.Now() }

// job is work that the stub does later by itself, like Stripe.
type job struct {
	due        time.Time
	run        func()
	isDeadline bool // it ends something that waits for a call, so Settle does not run it
}

func (s *Stub) later(delay time.Duration, run func()) {
	s.jobs = append(s.jobs, job{due: s.now().Add(delay), run: run})
}

// runJobs runs the jobs for which the condition holds, in the order of their due times.
func (s *Stub) runJobs(holds func(job) bool) {
	for {
		next := -1
		for i, j := range s.jobs {
			if holds(j) && (next < 0 || j.due.Before(s.jobs[next].due)) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		run := s.jobs[next].run
		s.jobs = append(s.jobs[:next], s.jobs[next+1:]...)
		run()
	}
}

// Settle does everything that would happen later by itself, without moving the clock: refunds that are pending or fail later,
// disputes of dispute cards, slow payments, balance transactions of charges, and the arrival of payouts. Authorizations do not
// expire by it.
func (s *Stub) Settle() {
	s.lock()
	defer s.mu.Unlock()
	s.runJobs(func(j job) bool { return !j.isDeadline })
}

// ForbidPayouts determines whether the account may create payouts from now on; if not, 400 payouts_not_allowed.
func (s *Stub) ForbidPayouts(areForbidden bool) {
	s.lock()
	defer s.mu.Unlock()
	s.payoutsForbidden = areForbidden
}

// SlowProcessing determines whether payments that are confirmed from now on stay in status processing for AsyncDelay before
// they succeed or are declined.
func (s *Stub) SlowProcessing(isSlow bool) {
	s.lock()
	defer s.mu.Unlock()
	s.isSlow = isSlow
}
