package notifier

import (
	"sync"
	"sync/atomic"
	"time"

	"mizan/actors"
	"mizan/actors/notifier/courier"
	"mizan/ledger"
	"mizan/posting"
)

// Bounds of the notifier.
const (
	maxInMemory   = 65_536          // notices that wait in memory, of all destinations together; more wait in the store
	maxAtHand     = 8_192           // of these, beyond which the records of those behind others are not kept in memory
	maxQueue      = 8_192           // of one destination that answers
	maxUntried    = 1_024           // of one that nothing is known of
	maxDoubtful   = 64              // of one that has failed
	firstWindow   = 4               // workers for a destination, once it has answered or failed: of one that nothing is known of, one
	lastWindow    = 16              // at the most, while it answers and more waits than they can take
	maxBatch      = 32              // notices that one worker takes to a destination that answers
	slowAnswer    = time.Second     // a worker whose receiver takes longer gives the rest of its batch back, and it has no more workers than one that fails
	briskPool     = 512             // workers for destinations that answer quickly, or of which nothing is known: at most, and half of Options.Connections
	doubtfulPool  = 512             // and for those that have failed, or are slow: likewise
	operatorPool  = 8               // and for operators: a mail server that hangs is not a merchant's concern
	keepIdle      = time.Minute     // how long it is remembered that a destination answers
	closePatience = 5 * time.Second // for deliveries under way when the process ends
)

// limits are bounds that tests set otherwise.
type limits struct {
	inMemory, atHand int64
	slow             time.Duration
	changeBytes      int
	indexed          int // keys of what waits or is parked that a list reads
	untriedPages     int // pages of notices that a list reads for what was not tried yet
}

// Options start a Service.
type Options struct {
	Runtime   *actors.Runtime
	Addresses actors.Addresses
	Tellers   map[ledger.Kind]actors.NotificationWriter // by the kind of record that notices tell of

	// Operators carries what operators are told: an attempt, and whom it has
	// reached so far, which the next one is given. Nil: nobody is there to be told.
	Operators func(org, to ledger.ID, body, told []byte) (a Attempt, toldNow []byte, wait time.Duration)

	// Connections bounds the webhooks under way at once, and the connections that are
	// kept for more; 0: MaxConnections.
	Connections int

	AllowPrivate bool          // webhooks may go to any address
	Retention    time.Duration // by the clock: how long deliveries are kept; 0: 30 days

	// Observe, if set, hears of every attempt, once it is over.
	Observe func(channel posting.Channel, failed bool, took time.Duration)
}

// MaxConnections is the bound of connections where Options name none.
const MaxConnections = briskPool + doubtfulPool

// DefaultRetention is how long deliveries are kept where Options say nothing.
const DefaultRetention = 30 * 24 * time.Hour

// Service delivers notices.
type Service struct {
	rt        *actors.Runtime
	addresses actors.Addresses
	tellers   map[ledger.Kind]actors.NotificationWriter
	operators func(org, to ledger.ID, body, told []byte) (Attempt, []byte, time.Duration)
	observe   func(posting.Channel, bool, time.Duration)
	courier   *courier.Courier
	retention ledger.Micros

	destinations *actors.Registry[key]
	offices      *actors.Registry[ledger.ID]
	brisk        *actors.Pool
	doubtful     *actors.Pool
	telling      *actors.Pool
	timers       *timers
	limits       limits
	waiting      atomic.Int64 // notices in memory, until they are tried or in the store
	stopping     atomic.Bool
	under        sync.RWMutex // held by every delivery under way
	faults       faults
	rescanned    atomic.Bool // after a fault: something may be told twice
	letters      sync.Pool

	resumed []resumption // what was there at the start
	sweeps  atomic.Int64 // when old deliveries are next looked for, in µs
}

// New registers the service with the runtime and with the journal, and reads when
// the deliveries that wait are due. Start the runtime afterwards, then call Resume.
func New(o Options) (*Service, error) {
	rt := o.Runtime
	if o.Retention <= 0 {
		o.Retention = DefaultRetention
	}
	if o.Connections <= 0 {
		o.Connections = MaxConnections
	}
	workers := max(o.Connections/2, 1)
	s := &Service{
		rt: rt, addresses: o.Addresses, tellers: o.Tellers, operators: o.Operators, observe: o.Observe,
		courier:   courier.New(courier.Options{AllowPrivate: o.AllowPrivate, Clock: rt.Clock, Log: rt.Log, MaxConns: o.Connections}),
		retention: ledger.Micros(o.Retention / time.Microsecond),
		brisk:     rt.NewPool(min(workers, briskPool)), doubtful: rt.NewPool(min(workers, doubtfulPool)), telling: rt.NewPool(operatorPool),
		letters: sync.Pool{New: func() any { return new([]byte) }},
		limits:  limits{maxInMemory, maxAtHand, slowAnswer, maxWrittenBytes, maxIndexed, maxUntriedPages},
		faults:  faults{of: make(map[key]*fault)},
	}
	s.destinations = actors.NewRegistry(rt, "notifier", keepIdle, func(k key) actors.Behaviour {
		return &destination{service: s, key: k, window: 1, pulled: make(map[ID]bool)}
	}).Aside()
	s.offices = actors.NewRegistry(rt, "notifier office", keepIdle, func(org ledger.ID) actors.Behaviour {
		return &office{service: s, org: org, newest: make(map[ID]*Delivery), posted: make(map[string]bool), asked: make(map[ID]bool)}
	}).Aside()
	s.timers = newTimers(func(k key, at ledger.Micros) { s.destinations.Tell(k, wakened{at}) })
	s.sweeps.Store(rt.Clock.Now().Add(firstSweep).UnixMicro())
	rt.Poll(actors.Poll{Next: s.timers.next, Run: s.wake, Quick: true})
	rt.Poll(actors.Poll{Next: s.nextSweep, Run: s.sweep})
	rt.Journal.OnNotices(s.offer)
	if err := s.remember(); err != nil {
		s.courier.Close()
		return nil, err
	}
	return s, nil
}

// Close begins no more deliveries, waits a little for those under way, and interrupts
// the rest, which counts as no attempt. What has not been delivered is in the store. Call it before the runtime
// is stopped.
func (s *Service) Close() {
	s.stopping.Store(true)
	ended := make(chan struct{})
	go func() {
		s.under.Lock() // when nobody delivers any more
		defer s.under.Unlock()
		close(ended)
	}()
	patience := time.NewTimer(closePatience)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
	}
	s.courier.Close()
}

// offer hands what a durable group tells to its destinations.
func (s *Service) offer(org ledger.ID, notices []posting.Notice) {
	if s.stopping.Load() {
		return
	}
	s.waiting.Add(int64(len(notices)))
	for len(notices) > 0 {
		first := keyOf(org, &notices[0])
		n := 1
		for n < len(notices) && keyOf(org, &notices[n]) == first {
			n++
		}
		s.destinations.Tell(first, offered{notices[:n:n]})
		notices = notices[n:]
	}
}

func keyOf(org ledger.ID, n *posting.Notice) key { return key{org, classOf(n.Channel), n.To} }

// wake tells destinations that a delivery of theirs is due.
func (s *Service) wake(now time.Time) error {
	for _, w := range s.timers.take(ledger.MicrosOf(now)) {
		s.destinations.Tell(w.key, wakened{w.at})
	}
	return nil
}
