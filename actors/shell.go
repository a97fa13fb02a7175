package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"mizan/ledger"
	"mizan/posting"
)

// shell is the library's side of an actor: it queues, counts, recovers and stops, so a Behaviour
// only decides. Any method of a Behaviour may panic; the shell recovers it, because the library
// would start another actor.
type shell[K comparable] struct {
	registry  *Registry[K]
	key       K
	behaviour Behaviour
	context   Context
	handled   uint64
	waiting   []any // while a Change is being made durable
}

// Context is what a Behaviour may use of its actor.
type Context struct {
	Runtime  *Runtime
	self     *actor.PID
	change   *posting.Change // the Change that is being made durable
	orphan   bool            // the behaviour that submitted change was replaced after a panic
	expected int             // Expected messages still to come
}

// Expected is a message that Context.Expect announced.
type Expected interface{ Expected() }

// Observer is a Refusable that only waits for the results of other messages. An actor's queue takes any
// number of Observers, because there are at most as many as requests in progress.
type Observer interface {
	Refusable
	Observes()
}

// Lasting is a message that no sender repeats: after a panic it is delivered again, after longer
// and longer waits.
type Lasting interface{ Lasting() }

// committed carries the writer's answer to the actor.
type committed struct{ receipt posting.Receipt }

// repeated is a Lasting message that has caused a panic.
type repeated struct {
	message any
	times   int
}

// Now returns the business time.
func (c *Context) Now() time.Time { return c.Runtime.Clock.Now() }

// Commit submits a Change to the writer. Later messages wait until Committed was called.
func (c *Context) Commit(change *posting.Change) {
	if c.change != nil {
		panic("a Change is under way already")
	}
	rt, self := c.Runtime, c.self
	rt.work.add()
	submitted := false
	defer func() {
		if !submitted {
			rt.work.done() // the journal has refused the Change with a panic, so no receipt will come
		}
	}()
	rt.Journal.Submit(change, func(r posting.Receipt) { rt.system.Root.Send(self, committed{r}) })
	submitted, c.change = true, change
}

// Submit submits a Change to the writer while the actor continues to receive messages. then is called
// with the receipt on the committer's goroutine; it must not block.
func (c *Context) Submit(change *posting.Change, then func(posting.Receipt)) {
	rt := c.Runtime
	rt.work.add()
	submitted := false
	defer func() {
		if !submitted {
			rt.work.done() // the journal has refused the Change with a panic, so no receipt will come
		}
	}()
	rt.Journal.Submit(change, func(r posting.Receipt) {
		defer rt.work.done()
		then(r)
	})
	submitted = true
}

// Expect announces that one Expected message will be sent to this actor. The actor stays until the
// message has come, even if its behaviour is replaced.
func (c *Context) Expect() { c.expected++ }

// Committing tells whether a Change is being made durable.
func (c *Context) Committing() bool { return c.change != nil }

// Expecting returns how many announced messages have not come yet.
func (c *Context) Expecting() int { return c.expected }

// Receive implements actor.Actor. An actor that may be removed is removed before the message's unit of work
// ends. So when Quiesce returns, no such actor is left.
func (s *shell[K]) Receive(ac actor.Context) {
	switch m := ac.Message().(type) {
	case *actor.Started:
		s.context = Context{Runtime: s.registry.rt, self: ac.Self()}
	case committed:
		s.settle(m.receipt)
		s.drain()
		s.retireIfIdle(ac)
		s.registry.rt.work.done()
	case idleCheck:
		s.retireIfIdle(ac)
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
		// Nothing to release: state is in the store.
	default:
		s.handled++
		if s.context.change != nil {
			s.queue(m)
			return
		}
		s.receive(m)
		s.retireIfIdle(ac)
		s.registry.rt.work.done()
	}
}

// queue keeps a message until the Change in progress is durable. Only commands are bounded in number: there
// cannot be more outcomes and due items than intents.
func (s *shell[K]) queue(m any) {
	_, observes := m.(Observer)
	if refusable, ok := m.(Refusable); ok && !observes && len(s.waiting) >= MaxWaiting {
		s.refuse(refusable, ErrBusy)
		s.registry.rt.work.done()
		return
	}
	s.waiting = append(s.waiting, m)
}

// drain handles the messages that waited, until one of them begins a Change.
func (s *shell[K]) drain() {
	for len(s.waiting) > 0 && s.context.change == nil {
		m := s.waiting[0]
		s.waiting[0] = nil
		if s.waiting = s.waiting[1:]; len(s.waiting) == 0 {
			s.waiting = nil
		}
		s.receive(m)
		s.registry.rt.work.done()
	}
}

func (s *shell[K]) receive(m any) {
	times := 0
	if r, ok := m.(repeated); ok {
		m, times = r.message, r.times
	}
	if _, ok := m.(Expected); ok && s.context.expected > 0 {
		s.context.expected--
	}
	defer s.recovered(m, times)
	s.behaviour.Receive(&s.context, m)
}

func (s *shell[K]) settle(r posting.Receipt) {
	change := s.context.change
	s.context.change = nil
	if s.context.orphan {
		s.context.orphan = false // the behaviour was replaced meanwhile and reads the store
		return
	}
	defer s.recovered(nil, 0)
	s.behaviour.Committed(&s.context, change, r)
}

// idle asks the behaviour whether nothing is outstanding, and until when the actor must be kept
// nevertheless; 0: it need not be.
func (s *shell[K]) idle() (until ledger.Micros, idle bool) {
	if s.context.change != nil || len(s.waiting) > 0 || s.context.expected > 0 {
		return 0, false
	}
	defer s.recovered(nil, 0)
	if s.registry.keep > 0 {
		if retained, ok := s.behaviour.(RetainedBehaviour); ok {
			until = retained.KeepUntil()
		}
	}
	return until, s.behaviour.Idle()
}

// recovered answers the message that caused a panic, and replaces the behaviour with a new one. It
// logs only the panic's type and place, because the value may contain secrets.
func (s *shell[K]) recovered(m any, times int) {
	fault := recover()
	if fault == nil {
		return
	}
	s.registry.rt.Recovered(fmt.Sprintf("actor %s on %T", s.registry.name, m), fault)
	s.protected("fails", func() { s.behaviour.Failed(&s.context) })
	if refusable, ok := m.(Refusable); ok {
		s.refuse(refusable, ledger.Refuse("actors", ledger.Internal, "an internal error; what was asked may or may not be done"))
	}
	s.context.orphan = s.context.change != nil
	s.behaviour = s.registry.produce(s.key)
	if _, ok := m.(Lasting); ok {
		registry, key := s.registry, s.key
		registry.rt.schedule(repeatAfter(times), func() { registry.Tell(key, repeated{m, times + 1}) })
	}
}

func (s *shell[K]) refuse(m Refusable, err error) {
	s.protected("refuses", func() { m.Refuse(err) })
}

// protected calls fn, a part of the handling of a panic, and recovers its panics.
func (s *shell[K]) protected(what string, fn func()) {
	defer func() {
		if fault := recover(); fault != nil {
			s.registry.rt.Recovered(fmt.Sprintf("actor %s as it %s", s.registry.name, what), fault)
		}
	}()
	fn()
}

func (s *shell[K]) retireIfIdle(ac actor.Context) {
	if until, idle := s.idle(); idle && s.registry.retire(s.key, s.handled, until) {
		ac.Stop(ac.Self())
	}
}
