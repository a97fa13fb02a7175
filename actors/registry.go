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
	// Receive handles one message. Receive is never called while a Change of this actor is being made durable.
	Receive(c *Context, message any)
	// Committed handles the writer's receipt for the Change given to Context.Commit.
	Committed(c *Context, change *posting.Change, receipt posting.Receipt)
	// Idle tells whether the actor may stop, because nothing is outstanding. It ignores the messages that Context.Expect
	// announced.
	Idle() bool
	// Failed is called after a panic in one of the other methods. It must answer waiting callers. After Failed, the
	// behaviour is not used any more. A message that no sender repeats should implement RedeliveredMessage.
	Failed(c *Context)
}

// RetainedBehaviour is a Behaviour whose memory is needed for some time even if nothing is outstanding. The actor is not
// stopped before the time (of the Runtime's clock) that KeepUntil returns. A registry that keeps idle actors calls
// KeepUntil after each message; other registries never call it.
type RetainedBehaviour interface{ KeepUntil() ledger.Micros }

// Refusable is a message whose sender waits for an answer.
type Refusable interface{ Refuse(err error) }

// Registry holds the actors of one kind and starts them when needed.
type Registry[K comparable] struct {
	rt           *Runtime
	name         string
	keepIdle     time.Duration // how long an idle actor is kept in memory if there is room; 0 if it is not kept
	live         *atomic.Int64 // the runtime's counter of actors with work to which the actors of this registry are added
	newBehaviour func(K) Behaviour
	seed         maphash.Seed
	shards       [64]shard[K]
}

// maxSpare is the maximum number of spare actors in one shard. All shards together can hold enough spare actors for the
// requests that a server has in progress at one time.
const maxSpare = 16

type shard[K comparable] struct {
	mu     sync.Mutex
	actors map[K]*shell[K] // guarded by mu

	// Making and ending an actor of protoactor-go costs as much as handling two messages. So if a registry keeps no idle
	// actors, it keeps some actors that have finished their work, and reuses them for other keys.
	spare []*shell[K] // guarded by mu
}

// usage is what the registry knows about an actor. All fields are guarded by the shard's lock.
type usage struct {
	sent      uint64 // number of messages sent to the actor since it was assigned to its key
	lastUsed  time.Time
	keepUntil ledger.Micros // while isIdle is set: time until which the actor must be kept, by the Runtime's clock
	isIdle    bool          // the actor has no work and is only kept in memory
}

// NewRegistry makes a registry. An idle actor is kept in memory for the duration keepIdle, but stops at once
// if all registries together already keep MaxKept actors.
func NewRegistry[K comparable](rt *Runtime, name string, keepIdle time.Duration, produce func(K) Behaviour) *Registry[K] {
	r := &Registry[K]{rt: rt, name: name, keepIdle: keepIdle, live: &rt.liveActors, newBehaviour: produce, seed: maphash.MakeSeed()}
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

// Unbounded excludes the registry's actors from the bounds: no command is refused and no due work is delayed because of
// these actors, even if very many of them have work. The code that sends messages to such actors must bound their memory.
// Call Unbounded before the first message. It returns the registry.
func (r *Registry[K]) Unbounded() *Registry[K] {
	r.live = &r.rt.unboundedActors
	return r
}

// Command sends a message on behalf of an outside caller. If too many actors have work, it returns ErrBusy. If the message
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

// Tell sends a message about an outcome or about due work. The message is never refused.
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

// releaseOrKeep decides what happens to an actor that has nothing outstanding. If a message to the actor is still on its
// way, nothing happens. Otherwise the actor either is kept in memory for its key, or loses the key. ends tells whether the
// actor must stop. If ends is false, the actor may already work for another key, so the caller must not touch the actor's
// state.
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
	// an actor that was kept in memory may still receive an idleCheck, so it is not reused for another key
	if r.keepIdle > 0 || len(s.spare) >= maxSpare {
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

// stopIdle asks actors whether they may stop. It asks each actor that has received no message for the duration keepIdle,
// except idle actors that must be kept until a later time. now is the real time.
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

// idleCheck is a message that asks an actor whether it may stop. An idleCheck is not counted in usage.sent.
type idleCheck struct{}
