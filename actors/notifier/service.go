package notifier

import (
	"sync"
	"sync/atomic"
	"time"

	"mizan/actors"
	"mizan/actors/notifier/webhook"
	"mizan/ledger"
	"mizan/posting"
)

// Bounds of the notifier.
const (
	maxInMemory        = 65_536          // notices of all destinations together that wait in memory; others wait in the store
	maxWithRecords     = 8_192           // number of waiting notices beyond which a destination's 65th and later ones are kept without their records
	maxQueue           = 8_192           // waiting notices of one quick destination
	maxUntried         = 1_024           // waiting notices of a destination that is neither quick nor failing
	maxFailing         = 64              // waiting notices of a destination that has failed
	firstWorkerLimit   = 4               // workers for a destination once it has answered or failed; an unknown one has one worker
	lastWorkerLimit    = 16              // the most workers, for a destination that answers quickly and has more waiting notices than its workers can take
	maxBatch           = 32              // notices that one worker takes to a quick destination
	slowAnswer         = time.Second     // a receiver that takes longer is slow: its worker returns the rest of the batch, and it gets no more workers than a failing one
	maxQuickWorkers    = 512             // workers for quick and unknown destinations: at most this, and at most half of Options.Connections
	maxFailingWorkers  = 512             // the same for failing and slow destinations
	maxOperatorWorkers = 8               // workers for operators, apart so that a mail server that hangs does not delay merchants
	keepIdle           = time.Minute     // how long an idle destination's state is kept
	closePatience      = 5 * time.Second // wait for deliveries in progress when the process ends
)

// limits are bounds that tests change.
type limits struct {
	inMemory, withRecords int64
	slow                  time.Duration
	changeBytes           int
	indexed               int // keys of waiting or parked deliveries that a list reads
	untriedPages          int // pages of notices that a list reads to find untried deliveries
}

// Options configure a Service.
type Options struct {
	Runtime   *actors.Runtime
	Addresses actors.Addresses
	Writers   map[ledger.Kind]actors.NotificationWriter // by the kind of record that notices report on

	// Operators makes one attempt to reach operators. reached has the operators whom earlier attempts
	// have reached. reachedNow has those and the ones whom this attempt has reached; it is passed to
	// the next attempt. Nil: operators are not notified.
	Operators func(org, to ledger.ID, body, reached []byte) (a Attempt, reachedNow []byte, wait time.Duration)

	// Connections bounds the webhooks in progress and the connections that are kept open for reuse;
	// 0: MaxConnections.
	Connections int

	AllowPrivate bool          // webhooks may go to any address, private ones included
	Retention    time.Duration // how long deliveries are kept, by the clock; 0: 30 days

	// Observe, if set, is called after every attempt.
	Observe func(channel posting.Channel, failed bool, took time.Duration)
}

// MaxConnections is the default of Options.Connections.
const MaxConnections = maxQuickWorkers + maxFailingWorkers

// DefaultRetention is the default of Options.Retention.
const DefaultRetention = 30 * 24 * time.Hour

// Service delivers notices.
type Service struct {
	rt        *actors.Runtime
	addresses actors.Addresses
	writers   map[ledger.Kind]actors.NotificationWriter
	operators func(org, to ledger.ID, body, reached []byte) (Attempt, []byte, time.Duration)
	observer  func(posting.Channel, bool, time.Duration)
	webhooks  *webhook.Sender
	retention ledger.Micros

	destinations    *actors.Registry[key]
	logs            *actors.Registry[ledger.ID]
	quickPool       *actors.Pool
	failingPool     *actors.Pool
	operatorWorkers *actors.Pool
	timers          *timers
	limits          limits
	inMemory        atomic.Int64 // notices in memory, until they are tried or in the store
	stopping        atomic.Bool
	delivering      sync.RWMutex // read-locked by every delivery in progress
	panics          panics
	rescanned       atomic.Bool // a rescan has run, so duplicates are possible
	bodies          sync.Pool

	resumed    []resumption // what New has found in the store
	removalDue atomic.Int64 // when the next retention run starts, in µs
}

// New registers the service with the runtime and with the journal, and reads when waiting
// deliveries are due. Start the runtime afterwards, then call Resume.
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
		rt: rt, addresses: o.Addresses, writers: o.Writers, operators: o.Operators, observer: o.Observe,
		webhooks:  webhook.New(webhook.Options{AllowPrivate: o.AllowPrivate, Clock: rt.Clock, Log: rt.Log, MaxConns: o.Connections}),
		retention: ledger.Micros(o.Retention / time.Microsecond),
		quickPool: rt.NewPool(min(workers, maxQuickWorkers)), failingPool: rt.NewPool(min(workers, maxFailingWorkers)), operatorWorkers: rt.NewPool(maxOperatorWorkers),
		bodies: sync.Pool{New: func() any { return new([]byte) }},
		limits: limits{maxInMemory, maxWithRecords, slowAnswer, maxWrittenBytes, maxIndexed, maxUntriedPages},
		panics: panics{byDestination: make(map[key]*panicRecord)},
	}
	s.destinations = actors.NewRegistry(rt, "notifier", keepIdle, func(k key) actors.Behaviour {
		return &destination{service: s, key: k, workerLimit: 1, pulled: make(map[ID]bool)}
	}).Unbounded()
	s.logs = actors.NewRegistry(rt, "delivery log", keepIdle, func(org ledger.ID) actors.Behaviour {
		return &deliveryLog{service: s, org: org, newest: make(map[ID]*Delivery), postingKeys: make(map[string]bool), requested: make(map[ID]bool)}
	}).Unbounded()
	s.timers = newTimers(func(k key, at ledger.Micros) { s.destinations.Tell(k, deliveriesDue{at}) })
	s.removalDue.Store(rt.Clock.Now().Add(firstRemoval).UnixMicro())
	rt.Poll(actors.Poll{Next: s.timers.next, Run: s.wake, Quick: true})
	rt.Poll(actors.Poll{Next: s.nextRemoval, Run: s.removeExpired})
	rt.Journal.OnNotices(s.offer)
	if err := s.loadPending(); err != nil {
		s.webhooks.Close()
		return nil, err
	}
	return s, nil
}

// Close starts no more deliveries, waits up to closePatience for those in progress, and interrupts
// the rest; an interrupted delivery does not count as an attempt. What has not been delivered is in
// the store. Call Close before the runtime is stopped.
func (s *Service) Close() {
	s.stopping.Store(true)
	ended := make(chan struct{})
	go func() {
		s.delivering.Lock() // returns when no delivery is in progress
		defer s.delivering.Unlock()
		close(ended)
	}()
	patience := time.NewTimer(closePatience)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
	}
	s.webhooks.Close()
}

// offer passes the notices of a durable group to their destinations.
func (s *Service) offer(org ledger.ID, notices []posting.Notice) {
	if s.stopping.Load() {
		return
	}
	s.inMemory.Add(int64(len(notices)))
	for len(notices) > 0 {
		first := keyOf(org, &notices[0])
		n := 1
		for n < len(notices) && keyOf(org, &notices[n]) == first {
			n++
		}
		s.destinations.Tell(first, noticesOffered{notices[:n:n]})
		notices = notices[n:]
	}
}

func keyOf(org ledger.ID, n *posting.Notice) key { return key{org, classOf(n.Channel), n.To} }

// wake tells the destinations of due deliveries that something is due.
func (s *Service) wake(now time.Time) error {
	for _, w := range s.timers.take(ledger.MicrosOf(now)) {
		s.destinations.Tell(w.key, deliveriesDue{w.at})
	}
	return nil
}
