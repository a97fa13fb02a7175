package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"mizan/ledger"
	"mizan/posting"
)

// shell is the library's side of an actor: it queues, counts, recovers and
// stops, so that a Behaviour only decides.
type shell[K comparable] struct {
	registry  *Registry[K]
	key       K
	behaviour Behaviour
	context   Context
	handled   uint64
	waiting   []any // while a Change is being made durable
	failures  int   // in a row
}

// Context is what a Behaviour may use of its actor.
type Context struct {
	Runtime *Runtime
	self    *actor.PID
	change  *posting.Change // being made durable
	orphan  bool            // the behaviour that submitted it is gone
}

// committed is the writer's answer on its way to the actor.
type committed struct{ receipt posting.Receipt }

// Now is the business time.
func (c *Context) Now() time.Time { return c.Runtime.Clock.Now() }

// Commit hands a Change to the writer. Later messages wait until Committed.
func (c *Context) Commit(change *posting.Change) {
	if c.change != nil {
		panic("a Change is under way already")
	}
	c.change = change
	c.Runtime.work.add()
	rt, self := c.Runtime, c.self
	rt.Journal.Submit(change, func(r posting.Receipt) { rt.system.Root.Send(self, committed{r}) })
}

// Receive implements actor.Actor.
func (s *shell[K]) Receive(ac actor.Context) {
	switch m := ac.Message().(type) {
	case *actor.Started:
		s.context = Context{Runtime: s.registry.rt, self: ac.Self()}
	case committed:
		s.settle(m.receipt)
		s.drain()
		s.registry.rt.work.done()
		s.retireIfIdle(ac, s.registry.keep == 0)
	case sweepTick:
		s.retireIfIdle(ac, false)
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
		// Nothing to release: state is in the store.
	default:
		s.handled++
		if s.context.change != nil {
			s.queue(m)
			return
		}
		s.receive(m)
		s.registry.rt.work.done()
		s.retireIfIdle(ac, s.registry.keep == 0)
	}
}

// queue keeps a message until the Change under way is durable. Only what can be
// refused is bounded: outcomes and due work are as many as their intents.
func (s *shell[K]) queue(m any) {
	if refusable, ok := m.(Refusable); ok && len(s.waiting) >= MaxWaiting {
		refusable.Refuse(ErrBusy)
		s.registry.rt.work.done()
		return
	}
	s.waiting = append(s.waiting, m)
}

// drain takes the messages that waited, until one begins a Change again.
func (s *shell[K]) drain() {
	for len(s.waiting) > 0 && s.context.change == nil {
		m := s.waiting[0]
		s.waiting[0] = nil
		s.waiting = s.waiting[1:]
		s.receive(m)
		s.registry.rt.work.done()
	}
}

func (s *shell[K]) receive(m any) {
	defer s.recovered(m)
	s.behaviour.Receive(&s.context, m)
	s.failures = 0
}

func (s *shell[K]) settle(r posting.Receipt) {
	change := s.context.change
	s.context.change = nil
	if s.context.orphan {
		s.context.orphan = false // the behaviour was rebuilt meanwhile and reads the store
		return
	}
	defer s.recovered(nil)
	s.behaviour.Committed(&s.context, change, r)
}

// recovered turns a panic into an answer. The value may hold anything, so only
// its type and the place are logged.
func (s *shell[K]) recovered(m any) {
	fault := recover()
	if fault == nil {
		return
	}
	s.registry.rt.Recovered(fmt.Sprintf("actor %s on %T", s.registry.name, m), fault)
	s.fail()
	if refusable, ok := m.(Refusable); ok {
		refusable.Refuse(ledger.Refuse("actors", ledger.Internal, "an internal error; what was asked may or may not be done"))
	}
	s.context.orphan = s.context.change != nil
	s.behaviour = s.registry.produce(s.key)
	s.failures++
	if due, ok := m.(Due); ok {
		s.again(due)
	}
}

func (s *shell[K]) fail() {
	defer func() {
		if recover() != nil {
			s.registry.rt.Log.Error("an actor panicked while it failed", "actor", s.registry.name)
		}
	}()
	s.behaviour.Failed(&s.context)
}

// again delivers due work later whose handling failed: by real time, since
// what failed is ours, not the record's.
func (s *shell[K]) again(due Due) {
	const first, last = time.Second, time.Minute
	registry, key := s.registry, s.key
	time.AfterFunc(min(first<<min(s.failures, 6), last), func() { registry.Tell(key, due) })
}

func (s *shell[K]) retireIfIdle(ac actor.Context, atOnce bool) {
	if s.context.change == nil && len(s.waiting) == 0 && s.behaviour.Idle() && s.registry.retire(s.key, s.handled, atOnce) {
		ac.Stop(ac.Self())
	}
}
