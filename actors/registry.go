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

// Behaviour is what an actor does.
type Behaviour interface {
	// Receive handles one message. It is never called while a Change of this actor is being made
	// durable.
	Receive(c *Context, message any)
	// Committed handles the writer's receipt for the Change given to Context.Commit.
	Committed(c *Context, change *posting.Change, receipt posting.Receipt)
	// Idle tells whether nothing is outstanding except what Context.Expect announced, so that the
	// actor may stop.
	Idle() bool
	// Failed is called after a panic in one of the other methods; it must answer waiting callers.
	// The behaviour is not used again. A message that no sender repeats should be Lasting.
	Failed(c *Context)
}

// RetainedBehaviour is a Behaviour whose memory is needed for some time even with nothing outstanding: its
// actor is not stopped before the time that KeepUntil returns, by the Runtime's clock. The registry calls
// KeepUntil after each message, and only if it keeps idle actors.
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

type shard[K comparable] struct {
	mu      sync.Mutex
	entries map[K]*actorEntry // guarded by mu

	// The library makes an actor inside Spawn, from properties that cost as much to build as the
	// actor. So a shard builds the properties once. Their producers use starting, the actor that is being
	// started, under the shard's lock.
	props    *actor.Props
	starting *shell[K]
}

// actorEntry is an actor in the registry. All fields are guarded by the shard's lock.
type actorEntry struct {
	mailbox   *mailbox
	sent      uint64 // total number of messages sent to the actor
	lastUsed  time.Time
	keepUntil ledger.Micros // while isIdle is set: time until which the actor must be kept, by the Runtime's clock
	isIdle    bool          // the actor has no work and is only kept in memory
}

// NewRegistry makes a registry. An idle actor is kept in memory for the duration keepIdle. It stops at once if
// all registries together already keep MaxKept actors.
func NewRegistry[K comparable](rt *Runtime, name string, keepIdle time.Duration, produce func(K) Behaviour) *Registry[K] {
	r := &Registry[K]{rt: rt, name: name, keepIdle: keepIdle, live: &rt.liveActors, produce: produce, seed: maphash.MakeSeed()}
	for i := range r.shards {
		s := &r.shards[i]
		s.entries = make(map[K]*actorEntry)
		s.props = actor.PropsFromProducer(func() actor.Actor { return s.starting },
			actor.WithMailbox(func() actor.Mailbox { return &s.starting.mailbox }))
	}
	if keepIdle > 0 {
		rt.mu.Lock()
		rt.idleStops = append(rt.idleStops, r.stopIdle)
		rt.mu.Unlock()
	}
	return r
}

// Unbounded excludes the registry's actors from the bounds: however many of them have work, no command
// is refused and no due work is delayed because of them. The senders of their messages must bound what
// the actors keep. Call Unbounded before the first message. It returns the registry.
func (r *Registry[K]) Unbounded() *Registry[K] {
	r.live = &r.rt.unboundedActors
	return r
}

// Command sends a message that an outside caller has asked for; ErrBusy if too many actors have work. If the message embeds a Waiter,
// the caller's goroutine runs the actor while it waits.
func (r *Registry[K]) Command(key K, m Refusable) error {
	if r.rt.liveActors.Load() >= MaxLive {
		return ErrBusy
	}
	var helper *helper
	if waiter, ok := m.(helps); ok {
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
	entry := s.entries[key]
	if entry == nil {
		s.starting = newShell(r, key)
		if helper != nil {
			s.starting.mailbox.setHelper(helper)
		}
		r.rt.system.Root.Spawn(s.props)
		entry = &actorEntry{mailbox: &s.starting.mailbox}
		s.entries[key] = entry
		r.live.Add(1)
	} else if helper != nil {
		entry.mailbox.setHelper(helper)
	}
	entry.sent++
	if r.keepIdle > 0 {
		entry.lastUsed = time.Now()
		if entry.isIdle {
			entry.isIdle = false
			r.rt.keptActors.Add(-1)
			r.live.Add(1)
		}
	}
	entry.mailbox.PostUserMessage(m)
	s.mu.Unlock()
}

func (r *Registry[K]) shard(key K) *shard[K] {
	return &r.shards[maphash.Comparable(r.seed, key)%uint64(len(r.shards))]
}

// retire is called by an actor that has nothing outstanding. If the actor has handled every message
// sent to it, the actor is removed from the registry or kept idle.
func (r *Registry[K]) retire(key K, handled uint64, keepUntil ledger.Micros) (removed bool) {
	s := r.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := s.entries[key]
	if entry == nil || entry.sent != handled {
		return false
	}
	if r.mayKeep(entry, keepUntil) {
		if entry.keepUntil = keepUntil; !entry.isIdle {
			entry.isIdle = true
			r.live.Add(-1)
			r.rt.keptActors.Add(1)
		}
		return false
	}
	delete(s.entries, key)
	if entry.isIdle {
		r.rt.keptActors.Add(-1)
	} else {
		r.live.Add(-1)
	}
	return true
}

// mayKeep tells whether an actor without work is kept in memory.
func (r *Registry[K]) mayKeep(entry *actorEntry, keepUntil ledger.Micros) bool {
	if r.keepIdle == 0 {
		return false
	}
	if r.rt.keptActors.Load() < MaxKept && time.Since(entry.lastUsed) < r.keepIdle {
		return true
	}
	return keepUntil > 0 && ledger.MicrosOf(r.rt.Clock.Now()) < keepUntil
}

// stopIdle asks actors that have been idle for too long at a real time whether they may stop. It does not ask
// those that must be kept until a later time.
func (r *Registry[K]) stopIdle(now time.Time) {
	businessNow := ledger.MicrosOf(r.rt.Clock.Now())
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		for _, entry := range s.entries {
			if now.Sub(entry.lastUsed) >= r.keepIdle && !(entry.isIdle && businessNow < entry.keepUntil) {
				entry.mailbox.PostUserMessage(idleCheck{})
			}
		}
		s.mu.Unlock()
	}
}

// idleCheck asks an actor whether it may stop. It is not counted in actorEntry.sent.
type idleCheck struct{}
