package actors

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"mizan/ledger"
	"mizan/posting"
)

// Behaviour decides what an actor does with its messages. Each kind of actor implements it.
type Behaviour interface {
	// Receive handles one message. It is never called while a Change of this actor is being made
	// durable.
	Receive(c *Context, message any)
	// Committed handles the writer's receipt for the Change given to Context.Commit.
	Committed(c *Context, change *posting.Change, receipt posting.Receipt)
	// Idle tells whether nothing is outstanding except what Context.Expect announced, so that the
	// actor may stop.
	Idle() bool
	// Failed is called after a panic in one of the other methods; it must answer waiting callers. The behaviour is not used
	// after that. A message that no sender repeats should implement RedeliveredMessage.
	Failed(c *Context)
}

// RetainedBehaviour is a Behaviour whose memory is needed for some time even if nothing is outstanding.
// Its actor is not stopped before the time that KeepUntil returns, by the Runtime's clock. The registry
// calls KeepUntil after each message, and only if it keeps idle actors.
type RetainedBehaviour interface{ KeepUntil() ledger.Micros }

// Refusable is a message whose sender waits for an answer.
type Refusable interface{ Refuse(err error) }

// Registry holds the actors of one kind and starts them when needed.
type Registry[K comparable] struct {
	rt       *Runtime
	name     string
	keepIdle time.Duration // how long an idle actor is kept if there is room; 0: not at all
	live     *atomic.Int64 // the runtime's counter that includes the actors of this registry while they have work
	produce  func(K) Behaviour
	seed     maphash.Seed
	shards   [64]shard[K]
}

// maxSpare bounds the spare actors of one shard. All shards together then hold enough for the requests that a server has in
// progress.
const maxSpare = 16

type shard[K comparable] struct {
	mu     sync.Mutex
	actors map[K]*shell[K] // guarded by mu

	// Making and ending an actor of protoactor-go costs as much as handling two messages. So a registry that keeps no idle
	// actors keeps some that have finished their work, for other keys.
	spare []*shell[K] // guarded by mu
}

// usage is what the registry knows about an actor. All fields are guarded by the shard's lock.
type usage struct {
	sent      uint64 // total number of messages sent to the actor for its key
	lastUsed  time.Time
	keepUntil ledger.Micros // while isIdle is set: time until which the actor must be kept, by the Runtime's clock
	isIdle    bool          // the actor has no work and is only kept in memory
}

// NewRegistry makes a registry. An idle actor is kept in memory for the duration keepIdle, but stops at once
// if all registries together already keep MaxKept actors.
func NewRegistry[K comparable](rt *Runtime, name string, keepIdle time.Duration, produce func(K) Behaviour) *Registry[K] {
	r := &Registry[K]{rt: rt, name: name, keepIdle: keepIdle, live: &rt.liveActors, produce: produce, seed: maphash.MakeSeed()}
	for i := range r.shards {
		r.shards[i].actors = make(map[K]*shell[K])
	}
	if keepIdle > 0 {
		rt.mu.Lock()
		rt.idleStops = append(rt.idleStops, r.stopIdle)
		rt.mu.Unlock()
	}
	return r
}

// Unbounded excludes the registry's actors from the bounds: no command is refused and no due work is
// delayed because of them, even if very many have work. The senders of their messages must bound the
// memory of these actors. Call Unbounded before the first message. It returns the registry.
func (r *Registry[K]) Unbounded() *Registry[K] {
	r.live = &r.rt.unboundedActors
	return r
}

// Command sends a message on behalf of an outside caller; it returns ErrBusy if too many actors have work. If the message
// embeds a Waiter, the caller's goroutine runs the actor while it waits.
func (r *Registry[K]) Command(key K, m Refusable) error {
	if r.rt.liveActors.Load() >= MaxLive {
		return ErrBusy
	}
	var helper *helper
	if waiter, ok := m.(hasHelper); ok {
		helper = waiter.asHelper()
	}
	r.send(key, m, helper)
	return nil
}

// Tell sends an outcome or due work. It is never refused.
func (r *Registry[K]) Tell(key K, m any) { r.send(key, m, nil) }

func (r *Registry[K]) send(key K, m any, helper *helper) {
	r.rt.work.add()
	s := r.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.actors[key]
	if a == nil {
		a = r.assign(s, key)
		s.actors[key] = a
		r.live.Add(1)
	}
	if helper != nil {
		a.mailbox.setHelper(helper)
	}
	a.usage.sent++
	if r.keepIdle > 0 {
		a.usage.lastUsed = time.Now()
		if a.usage.isIdle {
			a.usage.isIdle = false
			r.rt.keptActors.Add(-1)
			r.live.Add(1)
		}
	}
	a.mailbox.PostUserMessage(m)
}

// assign returns an actor for the key: a spare one, or a new one. The shard is locked.
func (r *Registry[K]) assign(s *shard[K], key K) *shell[K] {
	if last := len(s.spare) - 1; last >= 0 {
		a := s.spare[last]
		s.spare[last], s.spare = nil, s.spare[:last]
		a.begin(key)
		return a
	}
	a := newShell(r)
	a.begin(key)
	r.rt.system.Root.Spawn(actor.PropsFromProducer(
		func() actor.Actor { return a }, actor.WithMailbox(func() actor.Mailbox { return &a.mailbox }),
	))
	return a
}

func (r *Registry[K]) shard(key K) *shard[K] {
	return &r.shards[maphash.Comparable(r.seed, key)%uint64(len(r.shards))]
}

// releaseOrKeep is called by an actor that has nothing outstanding. If the actor has handled every message that was sent to
// it for its key, it loses the key or is kept idle. ends tells whether the actor must stop. If ends is false, the actor may
// already work for its next key, so the caller must not touch the actor's state.
func (r *Registry[K]) releaseOrKeep(a *shell[K], handled uint64, keepUntil ledger.Micros) (ends bool) {
	s := r.shard(a.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.actors[a.key] != a || a.usage.sent != handled {
		return false
	}
	if r.mayKeep(a, keepUntil) {
		if a.usage.keepUntil = keepUntil; !a.usage.isIdle {
			a.usage.isIdle = true
			r.live.Add(-1)
			r.rt.keptActors.Add(1)
		}
		return false
	}
	delete(s.actors, a.key)
	if a.usage.isIdle {
		r.rt.keptActors.Add(-1)
	} else {
		r.live.Add(-1)
	}
	if r.keepIdle > 0 || len(s.spare) >= maxSpare { // an actor that was kept may still receive an idleCheck, so it gets no next key
		return true
	}
	a.forget()
	s.spare = append(s.spare, a)
	return false
}

// mayKeep tells whether an actor without work is kept in memory.
func (r *Registry[K]) mayKeep(a *shell[K], keepUntil ledger.Micros) bool {
	if r.keepIdle == 0 {
		return false
	}
	if r.rt.keptActors.Load() < MaxKept && time.Since(a.usage.lastUsed) < r.keepIdle {
		return true
	}
	return keepUntil > 0 && ledger.MicrosOf(r.rt.Clock.Now()) < keepUntil
}

// stopIdle asks each actor that has got no message for keepIdle, at the real time now, whether it may stop.
// It does not ask idle actors that must be kept until a later time.
func (r *Registry[K]) stopIdle(now time.Time) {
	businessNow := ledger.MicrosOf(r.rt.Clock.Now())
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		for _, a := range s.actors {
			if now.Sub(a.usage.lastUsed) >= r.keepIdle && !(a.usage.isIdle && businessNow < a.usage.keepUntil) {
				a.mailbox.PostUserMessage(idleCheck{})
			}
		}
		s.mu.Unlock()
	}
}

// idleCheck asks an actor whether it may stop. It is not counted in usage.sent.
type idleCheck struct{}
