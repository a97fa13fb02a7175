package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/posting"
)

// Bounds of the runtime.
const (
	MaxLive    = 131_072 // actors with work, in all registries that are not Unbounded; further commands are refused
	MaxKept    = 131_072 // actors without work, in all registries; further ones stay only if they must be kept (RetainedBehaviour)
	MaxWaiting = 64      // messages that wait in one actor while its Change is made durable
	MaxCalls   = 131_072 // jobs that wait for the pool
	poolSize   = 1024    // concurrent jobs of the pool: calls of rails take seconds
)

// ErrBusy refuses a command because a bound is reached: try again later.
var ErrBusy error = ledger.Refuse("actors.Command", ledger.Unavailable, "too much is under way")

// Options configure a Runtime.
type Options struct {
	Clock   clock.Clock
	Journal *posting.Journal
	Log     *slog.Logger
	Sealer  Sealer // seals cached replies; nil: no request may have an idempotency key

	// Persist makes a manual clock's next time durable before the clock shows it.
	Persist func(time.Time) error

	// Handling is how long due work may take, in real time, to move its record before it is handed
	// out again; 0: half a minute.
	Handling time.Duration
}

// Runtime runs actors.
type Runtime struct {
	Clock   clock.Clock
	Journal *posting.Journal
	Log     *slog.Logger

	system    *actor.ActorSystem
	persist   func(time.Time) error
	sealer    Sealer
	work      work
	pool      *pool
	actors    *dispatcher
	live      atomic.Int64 // actors with work in registries that are not Unbounded
	unbounded atomic.Int64 // actors with work in registries that are Unbounded
	kept      atomic.Int64 // actors without work

	unreadable atomic.Uint64 // replies that did not open

	gate   sync.RWMutex // a manual clock's step excludes commands
	manual *clock.Manual

	context context.Context
	cancel  context.CancelFunc

	quitting atomic.Bool

	wakers   map[ledger.Kind]func(Due) // written only before Start
	polls    []*poll                   // written only before Start
	handling time.Duration
	stop     chan struct{}
	stopped  sync.WaitGroup

	mu         sync.Mutex
	idleStops  []func(now time.Time) // guarded by mu
	dispatched []dispatchedWork      // guarded by mu: due work that was handed out, oldest first
	repeats    []repeat              // guarded by mu
	pools      []*pool               // guarded by mu: pools made by NewPool
}

// RecordKey addresses a record's actor.
type RecordKey struct {
	Org ledger.ID
	ID  ledger.ID
}

// Due wakes a record at the time that the record has set.
type Due struct {
	Key RecordKey
	At  ledger.Micros
}

// Poll is a repeated task without a durable timer: what it looks for is still there after a restart.
// Run is called on the pool or, if Quick, by the clock's loop, one call at a time. After an error the
// poll waits, even if Next says that it is due.
type Poll struct {
	Next func() (time.Time, bool) // when it is due
	Run  func(now time.Time) error

	// Quick says that Run only sends messages, so that the clock's loop calls it directly instead
	// of waiting for the pool.
	Quick bool
}

// New makes a runtime. Register registries, wakers and polls, then call Start.
func New(o Options) *Runtime {
	discardLog := slog.New(slog.DiscardHandler)
	manual, _ := o.Clock.(*clock.Manual)
	ctx, cancel := context.WithCancel(context.Background())
	if o.Persist == nil {
		o.Persist = func(time.Time) error { return nil }
	}
	if o.Handling == 0 {
		o.Handling = handlingTime
	}
	return &Runtime{
		Clock: o.Clock, Journal: o.Journal, Log: o.Log, persist: o.Persist, sealer: o.Sealer, manual: manual, handling: o.Handling,
		context: ctx, cancel: cancel,
		// The library's loggers print whole messages, so its log is discarded.
		system: actor.NewActorSystemWithConfig(actor.Configure(
			actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return discardLog }),
			actor.WithDeadLetterRequestLogging(false),
		)),
		pool:   newPool(poolSize),
		actors: newDispatcher(),
		wakers: make(map[ledger.Kind]func(Due)),
		stop:   make(chan struct{}),
	}
}

// Wake registers the handler of due work of a kind of record.
func (rt *Runtime) Wake(kind ledger.Kind, fn func(Due)) { rt.wakers[kind] = fn }

// Poll registers a poll.
func (rt *Runtime) Poll(p Poll) { rt.polls = append(rt.polls, &poll{Poll: p}) }

// Start dispatches what is due and continues to do so as time passes. The function resume accepts the items
// that are dispatched at once, whatever their due time: intents whose outcome is unknown. Accepted items
// for which there is no room (overloaded) wait for their due times.
func (rt *Runtime) Start(resume func(posting.Item) bool) {
	for _, item := range rt.Journal.Due.All(resume) {
		if rt.overloaded() {
			break
		}
		rt.dispatch(item)
	}
	rt.stopped.Add(1)
	go rt.maintain()
	if rt.manual == nil {
		rt.stopped.Add(1)
		go rt.tick()
		return
	}
	// A kill during a step of the clock leaves work that is due at the time shown.
	now := rt.Clock.Now()
	rt.lookAhead(now)
	rt.runPolls(now)
	for rt.takeDue(now) == maxDueBatch {
	}
}

// Enter brackets a command: it waits while a manual clock is being stepped.
func (rt *Runtime) Enter() (leave func()) {
	if rt.manual == nil {
		return func() {}
	}
	rt.gate.RLock()
	return rt.gate.RUnlock
}

// Go runs a job on the pool; ErrBusy if too many jobs wait.
func (rt *Runtime) Go(job func()) error { return rt.runOn(rt.pool, job) }

func (rt *Runtime) runOn(p *pool, job func()) error {
	rt.work.add()
	if !p.add(func() { rt.run(job) }) {
		rt.work.done()
		return ErrBusy
	}
	return nil
}

func (rt *Runtime) run(job func()) {
	defer rt.work.done()
	defer func() { rt.Recovered("a job of the pool", recover()) }()
	job()
}

// Calling returns how many jobs of the pool are running: mostly calls of rails.
func (rt *Runtime) Calling() int { return int(rt.pool.busy.Load()) }

// overloaded tells whether so much work is waiting that due work must wait.
func (rt *Runtime) overloaded() bool {
	return rt.pool.waiting() > MaxCalls/2 || rt.live.Load() > MaxLive/2
}

// Context returns the context of slow work, which ends when the runtime stops.
func (rt *Runtime) Context() context.Context { return rt.context }

// Recovered logs a recovered panic without its value, which may contain secrets.
func (rt *Runtime) Recovered(where string, fault any) {
	if fault != nil {
		rt.Log.Error("a panic was recovered", "where", where, "panic", fmt.Sprintf("%T", fault), "stack", string(debug.Stack()))
	}
}

// Live returns the number of actors that have work: messages, a Change in progress, or something
// else outstanding.
func (rt *Runtime) Live() int64 { return rt.live.Load() + rt.unbounded.Load() }

// Outstanding returns the number of units of work in progress.
func (rt *Runtime) Outstanding() int64 { return rt.work.n.Load() }

// Quiesce waits until no work is in progress. What is due later stays due.
func (rt *Runtime) Quiesce() { rt.work.wait() }

// Quit announces the shutdown: a step of a manual clock stops where it is.
func (rt *Runtime) Quit() { rt.quitting.Store(true) }

// Stop ends the clocks, waits for the work in progress, and ends the actors. Commands must have
// ended before.
func (rt *Runtime) Stop() {
	close(rt.stop)
	rt.stopped.Wait()
	rt.cancel()
	rt.work.wait()
	rt.pool.close()
	rt.mu.Lock()
	pools := rt.pools
	rt.mu.Unlock()
	for _, p := range pools {
		p.close()
	}
	rt.system.Shutdown()
	rt.actors.close()
}

// ErrRealClock refuses to step a clock that runs by itself.
var ErrRealClock = errors.New("the clock is real")

// maintain runs in real time: it returns lost due work to the journal, makes scheduled calls again, and asks
// idle actors to stop.
func (rt *Runtime) maintain() {
	defer rt.stopped.Done()
	ticker := time.NewTicker(min(time.Second, rt.handling))
	defer ticker.Stop()
	for {
		select {
		case <-rt.stop:
			return
		case now := <-ticker.C:
			rt.reclaim(now)
			rt.runRepeats(now)
			rt.mu.Lock()
			idleStops := rt.idleStops
			rt.mu.Unlock()
			for _, stop := range idleStops {
				stop(now)
			}
		}
	}
}
