package notifier

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"mizan/actors"
	"mizan/actors/notifier/webhook"
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/posting"
)

// Bounds of the notifier.
const (
	maxInMemory        = 65_536          // waiting notices in memory, of all destinations; further notices wait in the store
	maxWithRecords     = 8_192           // if more are in memory, a destination's 65th and later are queued without records
	maxWaitingQuick    = 8_192           // waiting notices of one quick destination
	maxWaitingUnknown  = 1_024           // waiting notices of a destination that is neither quick nor failing
	maxWaitingFailing  = 64              // waiting notices of a destination that has failed
	firstWorkerLimit   = 4               // workers for a destination once it has answered or failed; before that it has one worker
	lastWorkerLimit    = 16              // most workers for a destination that answers quickly and has many waiting notices
	maxBatch           = 32              // notices that one worker delivers to a quick destination in one batch
	slowAnswer         = time.Second     // a receiver that takes longer is slow: it gets no more workers than a failing one
	maxQuickWorkers    = 512             // workers for quick destinations and those without a result yet: at most this, and at most half of Options.Connections
	maxFailingWorkers  = 512             // workers for failing and slow destinations: at most this, and at most half of Options.Connections
	failingPerSecond   = 200             // attempts that all failing destinations of merchants together make in a second: at 175 µs each, a thirtieth of a processor
	failingBurst       = 500             // attempts that they make at once after a time with few attempts
	maxOperatorWorkers = 8               // separate workers for operators: a hanging mail server must not delay merchants
	maxReceiptWorkers  = 8               // separate workers for payers' receipts: many receipts must not delay operators
	idleTime           = time.Minute     // how long an idle destination's state is kept
	closePatience      = 5 * time.Second // how long Close waits for deliveries in progress
)

// limits are bounds that tests change.
type limits struct {
	inMemory, withRecords int64
	slowAnswer            time.Duration
	changeBytes           int
	indexKeys             int // keys of waiting or parked deliveries that a list reads
	untriedPages          int // pages of notices that a list reads to find untried deliveries
}

// Options configure a Service.
type Options struct {
	Runtime   *actors.Runtime
	Addresses actors.Addresses
	Writers   map[ledger.Kind]actors.NotificationWriter // the writer for each kind of record that notices report on

	// NotifyOperators makes one attempt to reach operators. reached lists the operators whom earlier attempts
	// have reached. reachedNow lists these operators and those whom this attempt has reached; it is passed to
	// the next attempt, which is made no earlier than after wait. If NotifyOperators is nil, operators are
	// not notified.
	NotifyOperators func(org, to ledger.ID, body, reached []byte) (a Attempt, reachedNow []byte, wait time.Duration)

	// MailReceipt makes one attempt to send the payer of a transaction an e-mail with the address of the
	// receipt. If MailReceipt is nil, no receipts are sent.
	MailReceipt func(org, transaction ledger.ID) Attempt

	// Connections bounds the number of webhooks in progress and the number of connections that are kept open
	// for reuse. If it is 0, the bound is MaxConnections.
	Connections int

	Dial         webhook.Dial  // opens connections to webhooks; nil for this machine's network
	AllowPrivate bool          // webhooks may be sent to any address, even a private one
	Retention    time.Duration // how long finished deliveries are kept, by the business clock; 0 means 30 days

	// Observe, if set, is called after every attempt.
	Observe func(channel posting.Channel, failed bool, took time.Duration)

	// Tracer records a hop (a span of a trace) for every attempt. If it is nil, no hops are recorded.
	Tracer *tracing.Tracer
}

// MaxConnections is the default of Options.Connections.
const MaxConnections = maxQuickWorkers + maxFailingWorkers

// DefaultRetention is the default of Options.Retention.
const DefaultRetention = 30 * 24 * time.Hour

// Service delivers notices, the stored notifications of durable events.
type Service struct {
	runtime          *actors.Runtime
	addresses        actors.Addresses
	writers          map[ledger.Kind]actors.NotificationWriter
	attemptOperators func(org, to ledger.ID, body, reached []byte) (Attempt, []byte, time.Duration)
	mailReceipt      func(org, transaction ledger.ID) Attempt
	observer         func(posting.Channel, bool, time.Duration)
	webhooks         *webhook.Sender
	retention        ledger.Micros

	destinations *actors.Registry[destinationKey]
	deliveryLogs *actors.Registry[ledger.ID]
	quickPool    *actors.Pool
	failingPool  *actors.Pool
	failingTurns *rate.Limiter // see destination.takeTurn
	operatorPool *actors.Pool
	receiptPool  *actors.Pool
	timers       *timers
	limits       limits
	inMemory     atomic.Int64 // number of notices in memory that are neither tried nor stored as waiting yet
	stopping     atomic.Bool
	delivering   sync.RWMutex // read-locked by every delivery in progress
	panics       panics
	rescanned    atomic.Bool // notices were offered again after a panic, so duplicates are possible
	bodyBuffers  sync.Pool
	listeners    listeners

	tracer  *tracing.Tracer
	origins *tracing.OriginCache[deliveryKey]
	backlog backlogCache

	earlierRuns []earlierProcess // found by New in the store, for Resume
	removalDue  atomic.Int64     // when the next retention run starts, in µs
}

// New registers the service with the runtime and with the journal. It also reads from the store when waiting
// deliveries are due. The caller then starts the runtime and calls Resume.
func New(options Options) (*Service, error) {
	runtime := options.Runtime
	if options.Retention <= 0 {
		options.Retention = DefaultRetention
	}
	if options.Connections <= 0 {
		options.Connections = MaxConnections
	}
	workers := max(options.Connections/2, 1)
	s := &Service{
		runtime: runtime, addresses: options.Addresses, writers: options.Writers, attemptOperators: options.NotifyOperators, mailReceipt: options.MailReceipt, observer: options.Observe,
		webhooks:  webhook.New(webhook.Options{AllowPrivate: options.AllowPrivate, Dial: options.Dial, Clock: runtime.Clock, Log: runtime.Log, MaxConns: options.Connections}),
		retention: ledger.Micros(options.Retention / time.Microsecond),
		quickPool: runtime.NewPool(min(workers, maxQuickWorkers)), failingPool: runtime.NewPool(min(workers, maxFailingWorkers)), failingTurns: rate.NewLimiter(failingPerSecond, failingBurst), operatorPool: runtime.NewPool(maxOperatorWorkers), receiptPool: runtime.NewPool(maxReceiptWorkers),
		bodyBuffers: sync.Pool{New: func() any { return new([]byte) }},
		limits:      limits{maxInMemory, maxWithRecords, slowAnswer, maxChangeBytes, maxIndexKeys, maxUntriedPages},
		panics:      panics{byDestination: make(map[destinationKey]*panicRecord)},
		tracer:      options.Tracer, origins: tracing.NewOriginCache[deliveryKey](maxOrigins),
	}
	if runtime.HasManualClock() {
		s.failingTurns.SetLimit(rate.Inf) // commands wait until a move of the clock ends, and it ends after all due attempts
	}
	s.destinations = actors.NewRegistry(runtime, "notifier", idleTime, func(k destinationKey) actors.Behaviour {
		return &destination{service: s, key: k, workerLimit: 1, pulledIDs: make(map[ID]bool)}
	}).Unbounded()
	s.deliveryLogs = actors.NewRegistry(runtime, "delivery log", idleTime, func(org ledger.ID) actors.Behaviour {
		return &deliveryLog{service: s, org: org, submittedDeliveries: make(map[ID]*Delivery), postingKeys: make(map[string]bool), replayRequested: make(map[ID]bool)}
	}).Unbounded()
	s.timers = newTimers(func(k destinationKey, at ledger.Micros) { s.destinations.Tell(k, deliveriesDue{at}) })
	s.removalDue.Store(runtime.Clock.Now().Add(firstRemoval).UnixMicro())
	runtime.AddPoll(actors.Poll{Next: s.timers.next, Run: s.wakeDue, Quick: true})
	runtime.AddPoll(actors.Poll{Next: s.nextRemoval, Run: s.removeExpired})
	runtime.Journal.OnNotices(s.offer)
	if err := s.loadPending(); err != nil {
		s.webhooks.Close()
		return nil, err
	}
	return s, nil
}

// Close ends the service. No more deliveries start, and deliveries that are still in progress after
// closePatience are interrupted. An interrupted delivery does not count as an attempt. Notices that were not
// delivered are in the store. Call Close before the runtime is stopped.
func (s *Service) Close() {
	s.stopping.Store(true)
	s.endListeners()
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

// offer passes notices whose events are durable to their destinations and to listeners. Transient notices are
// for listeners only.
func (s *Service) offer(org ledger.ID, notices []posting.Notice) {
	if s.stopping.Load() || s.runtime.Journal.IsElsewhere(org) {
		return
	}
	s.passToListeners(org, notices)
	notices = withoutTransient(notices)
	s.inMemory.Add(int64(len(notices)))
	for len(notices) > 0 {
		destination := keyOf(org, &notices[0])
		n := 1
		for n < len(notices) && keyOf(org, &notices[n]) == destination {
			n++
		}
		s.destinations.Tell(destination, noticesOffered{notices[:n:n]})
		notices = notices[n:]
	}
}

// withoutTransient removes the transient notices (those for listeners only), in place.
func withoutTransient(notices []posting.Notice) []posting.Notice {
	kept := 0
	for i := range notices {
		if notices[i].IsTransient {
			continue
		}
		if kept != i {
			notices[kept] = notices[i]
		}
		kept++
	}
	return notices[:kept]
}

func keyOf(org ledger.ID, n *posting.Notice) destinationKey {
	return destinationKey{org, classOf(n.Channel), n.To}
}

// wakeDue wakes the destinations that have due deliveries in the store.
func (s *Service) wakeDue(now time.Time) error {
	for _, w := range s.timers.take(ledger.MicrosOf(now)) {
		s.destinations.Tell(w.key, deliveriesDue{w.at})
	}
	return nil
}
