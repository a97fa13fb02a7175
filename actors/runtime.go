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
	"github.com/google/uuid"

	"mizan/internal/clock"
	"mizan/ledger"
	"mizan/posting"
)

// Bounds of the runtime.
const (
	MaxLive    = 131_072 // actors with work, in all registries that are not Unbounded; if there are more, commands are refused
	MaxKept    = 131_072 // actors without work, in all registries; if there are more, only a RetainedBehaviour is kept
	MaxWaiting = 64      // maximum number of messages that wait in one actor while its Change is made durable
	MaxCalls   = 131_072 // maximum number of jobs that wait for one pool
	poolSize   = 1024    // number of jobs that the pool runs at one time; many, because calls of providers take seconds
)

// ErrBusy refuses a command because a bound is reached. The caller may try again later.
var ErrBusy error = ledger.Refuse("actors.Command", ledger.Unavailable, "too much is under way").By(ledger.LimitActors)

// Options configure a Runtime.
type Options struct {
	Clock   clock.Clock
	Journal *posting.Journal
	Log     *slog.Logger
	Sealer  Sealer // encrypts cached replies; if nil, no request may have an idempotency key

	// Persist makes a manual clock's next time durable before the clock shows it.
	Persist func(time.Time) error

	// Handling is the real time within which due work must change its record. If it takes longer, the work is handed out
	// again. The zero value means half a minute.
	Handling time.Duration
}

// Runtime runs actors and hands out due work to them.
type Runtime struct {
	Clock   clock.Clock
	Journal *posting.Journal
	Log     *slog.Logger

	// ListenerCounts counts the clients that receive an organization's notifications as they happen (listeners). The
	// notifier adds listeners.
	Listeners ListenerCounts

	system          *actor.ActorSystem
	persist         func(time.Time) error
	sealer          Sealer
	work            work
	pool            *pool
	dispatcher      *dispatcher
	liveActors      atomic.Int64 // number of actors with work in registries that are not Unbounded
	unboundedActors atomic.Int64 // number of actors with work in registries that are Unbounded
	keptActors      atomic.Int64 // number of actors without work
	shortJobs       atomic.Int32 // number of short jobs that are running

	unreadableReplies atomic.Uint64 // number of calls of LogUnreadableReply

	gate   sync.RWMutex  // commands hold it for reading; Advance holds it for writing
	manual *clock.Manual // nil if Clock is a real clock

	context context.Context
	cancel  context.CancelFunc

	quitting atomic.Bool

	dueHandlers map[ledger.Kind]func(Due) // written only before Start
	polls       []*poll                   // written only before Start
	handling    time.Duration
	stop        chan struct{}
	loops       sync.WaitGroup

	mu             sync.Mutex
	idleStops      []func(now time.Time) // guarded by mu: stopIdle of each registry
	dispatched     []dispatchedWork      // guarded by mu: due work that was handed out, oldest first
	scheduledCalls []scheduledCall       // guarded by mu
	pools          []*pool               // guarded by mu: pools made by NewPool
}

// NewTransactionID returns the id of a new transaction.
func (rt *Runtime) NewTransactionID() ledger.ID { return ledger.TimedID(rt.Clock.Now(), uuid.New()) }

// RecordKey addresses a record's actor.
type RecordKey struct {
	Org ledger.ID
	ID  ledger.ID
}

// Due is the message that wakes a record's actor at the time that the record has set.
type Due struct {
	Key RecordKey
	At  ledger.Micros
}

// Poll is a repeated task that needs no durable timer, because the work that it looks for is still stored after a
// restart. Run is called on the pool or, if Quick is set, by the clock's loop; the next call begins only after the last
// has ended. If Run returns an error, the poll waits for a while, even if Next says that it is due.
type Poll struct {
	Next func() (time.Time, bool) // when the poll is due; false if it is not due at any time
	Run  func(now time.Time) error

	// Quick says that Run only sends messages. The clock's loop then calls Run directly instead of waiting for the pool.
	Quick bool
}

// New makes a runtime. Make registries, register handlers of due work (HandleDue) and polls (AddPoll), then call Start.
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
		// The loggers of protoactor-go print whole messages, which may contain secrets, so its log is discarded.
		system: actor.NewActorSystemWithConfig(actor.Configure(
			actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return discardLog }),
			actor.WithDeadLetterRequestLogging(false),
		)),
		pool:        newPool(poolSize),
		dispatcher:  newDispatcher(),
		dueHandlers: make(map[ledger.Kind]func(Due)),
		stop:        make(chan struct{}),
	}
}

// HandleDue registers the function that handles the due work of a kind of record.
func (rt *Runtime) HandleDue(kind ledger.Kind, fn func(Due)) { rt.dueHandlers[kind] = fn }

// AddPoll registers a poll.
func (rt *Runtime) AddPoll(p Poll) { rt.polls = append(rt.polls, &poll{Poll: p}) }

// Start begins to dispatch due work. The function resume selects items that are intents with an unknown outcome; Start
// dispatches these items at once, before their due times. If the runtime becomes overloaded, the rest of these items
// wait for their due times.
func (rt *Runtime) Start(resume func(posting.DueItem) bool) {
	for _, item := range rt.Journal.Due.All(resume) {
		if rt.overloaded() {
			break
		}
		rt.dispatch(item)
	}
	rt.loops.Add(1)
	go rt.maintain()
	if rt.manual == nil {
		rt.loops.Add(1)
		go rt.tick()
		return
	}
	// If the process was killed during Advance, some work may be left that is due at the time that the clock shows.
	now := rt.Clock.Now()
	rt.lookAhead(now)
	rt.runPolls(now)
	for rt.takeDue(now) == maxDueBatch {
	}
}

// HasManualClock tells whether Advance moves the clock. A move waits until everything that has become due is done.
func (rt *Runtime) HasManualClock() bool { return rt.manual != nil }

// Enter begins a command. The caller must call leave when the command ends. While Advance moves a manual clock, Enter
// waits.
func (rt *Runtime) Enter() (leave func()) {
	if rt.manual == nil {
		return func() {}
	}
	rt.gate.RLock()
	return rt.gate.RUnlock
}

// Go runs a job on the pool. If too many jobs wait, it returns ErrBusy.
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
	defer func() { rt.LogPanic("a job of the pool", recover()) }()
	job()
}

// RunningJobs returns how many jobs are running. Most jobs are calls of providers.
func (rt *Runtime) RunningJobs() int { return int(rt.pool.runningJobs.Load() + rt.shortJobs.Load()) }

// overloaded tells whether due work must wait, because too many jobs wait or too many actors have work.
func (rt *Runtime) overloaded() bool {
	return rt.pool.waiting() > MaxCalls/2 || rt.liveActors.Load() > MaxLive/2
}

// Context returns the context for slow work. It ends when the runtime stops.
func (rt *Runtime) Context() context.Context { return rt.context }

// LogPanic logs a recovered panic without its value, which may contain secrets.
func (rt *Runtime) LogPanic(where string, fault any) {
	if fault != nil {
		rt.Log.Error("a panic was recovered", "where", where, "panic", fmt.Sprintf("%T", fault), "stack", string(debug.Stack()))
	}
}

// ActorsWithWork returns the number of actors that have work: messages, a Change in progress, or something
// else outstanding.
func (rt *Runtime) ActorsWithWork() int64 { return rt.liveActors.Load() + rt.unboundedActors.Load() }

// Outstanding returns the number of units of work in progress.
func (rt *Runtime) Outstanding() int64 { return rt.work.count.Load() }

// Quiesce waits until no work is in progress. Work that is due later stays scheduled.
func (rt *Runtime) Quiesce() { rt.work.wait() }

// Quit announces the shutdown: an Advance in progress stops the manual clock where it is.
func (rt *Runtime) Quit() { rt.quitting.Store(true) }

// CancelCalls ends the calls to other programs, such as providers, and begins no more. Their outcomes are unknown. It is for a node
// that has lost the lead of its shard: commands that wait for a call must not keep the node from leading again.
func (rt *Runtime) CancelCalls() { rt.cancel() }

// Stop ends the clock's loops, waits for the work in progress, and ends the actors. All commands must
// have ended before Stop is called.
func (rt *Runtime) Stop() {
	close(rt.stop)
	rt.loops.Wait()
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
	rt.dispatcher.close()
}

// ErrRealClock says that Advance was called although the clock is not a manual one.
var ErrRealClock = errors.New("the clock is real")

// maintain runs in real time: it returns lost due work to the journal, makes scheduled calls, and asks idle
// actors to stop.
func (rt *Runtime) maintain() {
	defer rt.loops.Done()
	ticker := time.NewTicker(min(time.Second, rt.handling))
	defer ticker.Stop()
	for {
		select {
		case <-rt.stop:
			return
		case now := <-ticker.C:
			rt.reclaim(now)
			rt.runScheduledCalls(now)
			rt.mu.Lock()
			idleStops := rt.idleStops
			rt.mu.Unlock()
			for _, stopIdle := range idleStops {
				stopIdle(now)
			}
		}
	}
}
