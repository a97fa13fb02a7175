package actors

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"mizan/ledger"
	"mizan/posting"
)

// shell is the actor that the library (protoactor-go) knows. It queues and counts messages, recovers panics and stops the
// actor, so a Behaviour need only handle messages. Any method of a Behaviour may panic; the shell recovers the panic,
// because the library would start another actor.
type shell[K comparable] struct {
	registry *Registry[K]
	usage    usage // what the registry knows about the actor
	mailbox  mailbox

	// The fields below belong to the actor's present key. The registry sets key and behaviour, under the shard's lock,
	// before it sends the first message.
	key       K
	behaviour Behaviour
	context   Context
	handled   uint64 // number of messages received
	waiting   []any  // messages that came while a Change was being made durable
}

// Context gives a Behaviour access to its actor.
type Context struct {
	Runtime   *Runtime
	mailbox   *mailbox
	onReceipt func(posting.Receipt)
	change    *posting.Change // the Change that is being made durable
	receipt   posting.Receipt // the writer's receipt for change; set until receiptMessage is handled
	isOrphan  bool            // the behaviour that submitted the Change was replaced after a panic
	expected  int             // number of announced messages (AnnouncedMessage) that have not come yet
}

func newShell[K comparable](r *Registry[K]) *shell[K] {
	s := &shell[K]{registry: r, mailbox: mailbox{rt: r.rt}}
	s.context = Context{Runtime: r.rt, mailbox: &s.mailbox, onReceipt: s.onReceipt}
	return s
}

// begin assigns a key to the actor, and makes a behaviour for the key.
func (s *shell[K]) begin(key K) { s.key, s.behaviour = key, s.registry.newBehaviour(key) }

// forget drops everything that belongs to the present key.
func (s *shell[K]) forget() {
	var none K
	s.key, s.behaviour, s.handled, s.waiting, s.usage = none, nil, 0, nil, usage{}
	s.context = Context{Runtime: s.context.Runtime, mailbox: s.context.mailbox, onReceipt: s.context.onReceipt}
}

// AnnouncedMessage is a message that Context.Expect announced.
type AnnouncedMessage interface{ Expected() }

// OutcomeWaiter is a Refusable that only waits for the results of other messages. The number of Observers in an actor's
// queue has no limit of its own, because there are never more Observers than requests in progress.
type OutcomeWaiter interface {
	Refusable
	OnlyWaits()
}

// RedeliveredMessage is a message that no sender repeats. If it causes a panic, it is delivered again after a wait, which
// grows with each panic.
type RedeliveredMessage interface{ IsRedelivered() }

// receiptMessage says that the journal's receipt for a Change is in the Context.
type receiptMessage struct{}

// retriedMessage holds a RedeliveredMessage that is delivered again after a panic.
type retriedMessage struct {
	message any
	panics  int // how many deliveries have panicked
}

// Now returns the time of the runtime's clock.
func (c *Context) Now() time.Time { return c.Runtime.Clock.Now() }

// Commit submits a Change to the journal. Later messages wait until Behaviour.Committed has been called.
func (c *Context) Commit(change *posting.Change) {
	if c.change != nil {
		panic("a Change is under way already")
	}
	rt := c.Runtime
	rt.work.add()
	submitted := false
	defer func() {
		if !submitted {
			rt.work.done() // Journal.Submit has panicked, so no receipt will come
		}
	}()
	rt.Journal.Submit(change, c.onReceipt)
	submitted, c.change = true, change
}

func (s *shell[K]) onReceipt(r posting.Receipt) {
	s.context.receipt = r
	s.mailbox.PostUserMessage(receiptMessage{})
}

// Submit submits a Change to the journal while the actor continues to receive messages. onReceipt is called
// on the journal's goroutine and must not block.
func (c *Context) Submit(change *posting.Change, onReceipt func(posting.Receipt)) {
	rt := c.Runtime
	rt.work.add()
	submitted := false
	defer func() {
		if !submitted {
			rt.work.done() // Journal.Submit has panicked, so no receipt will come
		}
	}()
	rt.Journal.Submit(change, func(r posting.Receipt) {
		defer rt.work.done()
		onReceipt(r)
	})
	submitted = true
}

// Expect announces that one AnnouncedMessage will be sent to this actor. The actor is not stopped before the message has
// come, even if its behaviour is replaced.
func (c *Context) Expect() { c.expected++ }

// Committing tells whether a Change is being made durable.
func (c *Context) Committing() bool { return c.change != nil }

// Expecting returns how many announced messages have not come yet.
func (c *Context) Expecting() int { return c.expected }

// Receive implements actor.Actor. If the actor may stop after the message, Receive removes the actor before the message's
// unit of work ends, so that no such actor is left when Quiesce returns.
func (s *shell[K]) Receive(ac actor.Context) {
	switch m := ac.Message().(type) {
	case receiptMessage:
		s.handleReceipt()
		s.drain()
		s.retireIfIdle(ac)
		s.registry.rt.work.done()
	case idleCheck:
		s.retireIfIdle(ac)
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
		// Nothing to do, because the actor's state is in the store.
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

// queue keeps a message until the Change in progress is durable. Only the number of commands is limited here. Outcomes
// and due work need no limit, because each belongs to an intent, and the number of intents is limited.
func (s *shell[K]) queue(m any) {
	_, observes := m.(OutcomeWaiter)
	if refusable, ok := m.(Refusable); ok && !observes && len(s.waiting) >= MaxWaiting {
		s.refuse(refusable, ErrBusy)
		s.registry.rt.work.done()
		return
	}
	s.waiting = append(s.waiting, m)
}

// drain handles the waiting messages until one of them submits a Change.
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
	panics := 0
	if r, ok := m.(retriedMessage); ok {
		m, panics = r.message, r.panics
	}
	if _, ok := m.(AnnouncedMessage); ok && s.context.expected > 0 {
		s.context.expected--
	}
	defer s.recoverPanic(m, panics)
	s.behaviour.Receive(&s.context, m)
}

// handleReceipt ends the Change in progress: it passes the receipt to the behaviour.
func (s *shell[K]) handleReceipt() {
	change, receipt := s.context.change, s.context.receipt
	s.context.change, s.context.receipt = nil, posting.Receipt{}
	if s.context.isOrphan {
		s.context.isOrphan = false // the behaviour is a new one, which reads the Change from the store
		return
	}
	defer s.recoverPanic(nil, 0)
	s.behaviour.Committed(&s.context, change, receipt)
}

// idle tells whether the actor has nothing outstanding. keepUntil is the time until which the behaviour wants the actor
// kept in memory, or 0 if it need not be kept.
func (s *shell[K]) idle() (keepUntil ledger.Micros, isIdle bool) {
	if s.context.change != nil || len(s.waiting) > 0 || s.context.expected > 0 {
		return 0, false
	}
	defer s.recoverPanic(nil, 0)
	if s.registry.keepIdle > 0 {
		if retained, ok := s.behaviour.(RetainedBehaviour); ok {
			keepUntil = retained.KeepUntil()
		}
	}
	return keepUntil, s.behaviour.Idle()
}

// recoverPanic, when deferred, recovers a panic, answers the message that caused it, and replaces the
// behaviour with a new one. It logs only the panic's type and place, because the value may contain secrets.
func (s *shell[K]) recoverPanic(m any, panics int) {
	fault := recover()
	if fault == nil {
		return
	}
	s.registry.rt.LogPanic(fmt.Sprintf("actor %s on %T", s.registry.name, m), fault)
	s.callProtected("fails", func() { s.behaviour.Failed(&s.context) })
	if refusable, ok := m.(Refusable); ok {
		s.refuse(refusable, ledger.Refuse("actors", ledger.Internal, "an internal error; the requested work may or may not be done"))
	}
	s.context.isOrphan = s.context.change != nil
	s.behaviour = s.registry.newBehaviour(s.key)
	if _, ok := m.(RedeliveredMessage); ok {
		registry, key := s.registry, s.key
		registry.rt.schedule(retryDelay(panics), func() { registry.Tell(key, retriedMessage{m, panics + 1}) })
	}
}

func (s *shell[K]) refuse(m Refusable, err error) {
	s.callProtected("refuses", func() { m.Refuse(err) })
}

// callProtected calls fn, which refuses a message or ends a behaviour that has panicked, and recovers fn's panics.
func (s *shell[K]) callProtected(what string, fn func()) {
	defer func() {
		if fault := recover(); fault != nil {
			s.registry.rt.LogPanic(fmt.Sprintf("actor %s as it %s", s.registry.name, what), fault)
		}
	}()
	fn()
}

func (s *shell[K]) retireIfIdle(ac actor.Context) {
	if keepUntil, isIdle := s.idle(); isIdle && s.registry.releaseOrKeep(s, s.handled, keepUntil) {
		ac.Stop(ac.Self())
	}
}
