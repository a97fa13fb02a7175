package notifier

import (
	"fmt"
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
	maxInMemory  = 65_536      // notices that wait in memory, of all destinations together; more wait in the store
	maxQueue     = 8_192       // of one destination that answers
	maxUntried   = 1_024       // of one that nothing is known of
	maxDoubtful  = 64          // of one that has failed
	firstWindow  = 4           // workers for a destination, once it has answered or failed: of one that nothing is known of, one
	lastWindow   = 16          // at the most, while it answers and more waits than they can take
	maxBatch     = 32          // notices that one worker takes to a destination that answers
	slowAnswer   = time.Second // a worker whose receiver takes so long gives the rest of its batch back
	briskPool    = 512         // workers for destinations that have not failed
	doubtfulPool = 512         // and for those that have
	operatorPool = 8           // and for operators: a mail server that hangs is not a merchant's concern
	keepIdle     = time.Minute // how long it is remembered that a destination answers
)

// Options start a Service.
type Options struct {
	Runtime   *actors.Runtime
	Addresses actors.Addresses
	Tellers   map[ledger.Kind]actors.Teller // by the kind of record that notices tell of

	// Operators carries what operators are told: an attempt, and whom it has not
	// reached yet. Nil: nobody is there to be told.
	Operators func(org, to ledger.ID, body, left []byte) (a Attempt, stillLeft []byte, wait time.Duration)

	AllowPrivate bool          // webhooks may go to any address
	Retention    time.Duration // by the clock: how long deliveries are kept; 0: 30 days

	// Observe, if set, hears of every attempt, once it is over.
	Observe func(channel posting.Channel, failed bool, took time.Duration)
}

// DefaultRetention is how long deliveries are kept where Options say nothing.
const DefaultRetention = 30 * 24 * time.Hour

// Service delivers notices.
type Service struct {
	rt        *actors.Runtime
	addresses actors.Addresses
	tellers   map[ledger.Kind]actors.Teller
	operators func(org, to ledger.ID, body, left []byte) (Attempt, []byte, time.Duration)
	observe   func(posting.Channel, bool, time.Duration)
	courier   *courier.Courier
	retention ledger.Micros

	destinations *actors.Registry[key]
	offices      *actors.Registry[ledger.ID]
	brisk        *actors.Pool
	doubtful     *actors.Pool
	telling      *actors.Pool
	timers       *timers
	waiting      atomic.Int64 // notices in memory
	stopping     atomic.Bool
	rescanned    atomic.Bool // after a fault: something may be told twice
	letters      sync.Pool

	resumed []resumption // what was there at the start
	swept   atomic.Int64 // when old deliveries were last removed, in µs
}

// New registers the service with the runtime and with the journal, and reads when
// the deliveries that wait are due. Start the runtime afterwards, then call Resume.
func New(o Options) (*Service, error) {
	rt := o.Runtime
	if o.Retention <= 0 {
		o.Retention = DefaultRetention
	}
	s := &Service{
		rt: rt, addresses: o.Addresses, tellers: o.Tellers, operators: o.Operators, observe: o.Observe,
		courier:   courier.New(courier.Options{AllowPrivate: o.AllowPrivate, Clock: rt.Clock, Log: rt.Log, MaxConns: briskPool + doubtfulPool}),
		retention: ledger.Micros(o.Retention / time.Microsecond),
		brisk:     rt.NewPool(briskPool), doubtful: rt.NewPool(doubtfulPool), telling: rt.NewPool(operatorPool),
		letters: sync.Pool{New: func() any { return new([]byte) }},
	}
	s.destinations = actors.NewRegistry(rt, "notifier", keepIdle, func(k key) actors.Behaviour {
		return &destination{service: s, key: k, window: 1, pulled: make(map[ID]bool)}
	})
	s.offices = actors.NewRegistry(rt, "notifier office", keepIdle, func(org ledger.ID) actors.Behaviour {
		return &office{service: s, org: org, newest: make(map[ID]*Delivery), posted: make(map[string]bool)}
	})
	s.timers = newTimers(func(k key, at ledger.Micros) { s.destinations.Tell(k, wakened{at}) })
	s.swept.Store(rt.Clock.Now().Add(firstSweep - sweepEvery).UnixMicro())
	rt.Poll(actors.Poll{Next: s.timers.next, Run: s.wake, Quick: true})
	rt.Poll(actors.Poll{Next: s.nextSweep, Run: s.sweep})
	rt.Journal.OnNotices(s.offer)
	if err := s.remember(); err != nil {
		s.courier.Close()
		return nil, err
	}
	return s, nil
}

// Close interrupts the deliveries under way, which counts as no attempt, and begins
// no more. What has not been delivered is in the store. Call it before the runtime
// is stopped.
func (s *Service) Close() {
	s.stopping.Store(true)
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

// report is what became of an attempt.
type report struct {
	Attempt
	wait time.Duration // before the next one, at least
	left []byte        // operators that it has not reached
}

// unwritten is an attempt at a notice that we could not put into words.
func (s *Service) unwritten() report {
	return report{Attempt: Attempt{At: ledger.MicrosOf(s.rt.Clock.Now()), Failure: "could not be written"}}
}

// attempt makes one attempt to deliver; false: it was interrupted, which is none. A
// notice on which we panic is a failed one: it holds up no other.
func (s *Service) attempt(k key, n *posting.Notice, left []byte) (r report, made bool) {
	defer func() {
		if fault := recover(); fault != nil {
			s.rt.Recovered("a delivery", fault)
			r, made = s.unwritten(), true
		}
	}()
	letter, buffer, err := s.letter(k.org, n)
	defer func() {
		*buffer = letter.Data[:0]
		s.letters.Put(buffer)
	}()
	if err != nil {
		s.rt.Log.Error("a notice cannot be written", "error", err)
		return s.unwritten(), true
	}
	began := time.Now()
	if k.class == operators {
		r, made = s.tellOperators(k, letter.Data, left)
	} else {
		r, made = s.tellMerchant(k, n, &letter)
	}
	if made && s.observe != nil {
		s.observe(n.Channel, r.Failure != "", time.Since(began))
	}
	return r, made
}

func (s *Service) tellMerchant(k key, n *posting.Notice, letter *actors.Letter) (report, bool) {
	to, set := s.addresses.Address(k.org, k.to)
	if !set {
		return report{Attempt: Attempt{At: ledger.MicrosOf(s.rt.Clock.Now()), Failure: "no address is set"}}, true
	}
	p := courier.Parcel{URL: to.URL, Type: letter.Type, Data: letter.Data, Bare: n.Channel == posting.Stream}
	if !p.Bare {
		p.Secret, p.Previous, p.EventID = to.Secret, to.Previous, EventID(k.org, ID{n.Booked, n.Channel}).String()
	}
	a := s.courier.Deliver(&p)
	return report{Attempt: Attempt{ledger.MicrosOf(a.At), a.Status, a.Failure, a.Took.Milliseconds()}}, a.Failure != courier.Interrupted
}

func (s *Service) tellOperators(k key, body, left []byte) (report, bool) {
	if s.operators == nil {
		return report{Attempt: Attempt{At: ledger.MicrosOf(s.rt.Clock.Now()), Failure: "nothing is configured to tell operators by"}}, true
	}
	a, stillLeft, wait := s.operators(k.org, k.to, body, left)
	return report{Attempt: a, left: stillLeft, wait: wait}, !s.stopping.Load() || a.Failure == ""
}

// letter writes what a notice says into a buffer of the pool.
func (s *Service) letter(org ledger.ID, n *posting.Notice) (actors.Letter, *[]byte, error) {
	buffer := s.letters.Get().(*[]byte)
	letter := actors.Letter{Data: (*buffer)[:0]}
	if classOf(n.Channel) == operators {
		letter.Data = append(letter.Data, n.Body...)
		return letter, buffer, nil
	}
	teller := s.tellers[n.Source.Kind]
	if teller == nil {
		return letter, buffer, fmt.Errorf("nobody tells of records of kind %c", n.Source.Kind)
	}
	told, err := teller.Tell(letter.Data, org, n)
	if err != nil {
		return letter, buffer, err
	}
	return told, buffer, nil
}
