package posting

import (
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"mizan/internal/assert"
	"mizan/internal/clock"
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/posting/store"
)

// Bounds of the writer. A group is the changes that become durable with one sync.
const (
	MaxQueue  = 32_768         // changes that wait for a group; further commands are refused
	MaxGroup  = 8_192          // changes in a group
	MaxRecord = 1<<20 + 64<<10 // bytes of a record's payload: the longest request and what the service adds
	MaxSealed = 2 << 10        // bytes of a record's sealed row
	MaxClaim  = 1_200          // bytes of a claim's key (255 characters of four bytes, and a margin), and of its owner
	MaxTexts  = 1_024          // bytes of an event's name and states together
	MaxEvents = 1_024          // events of one Step
	MaxSteps  = 1_024          // steps of one Change
	maxCached = 65_536         // entries per generation of the orderer's caches, unless Options say otherwise
)

// ErrStopped is the error of a closed journal: the process is ending.
var ErrStopped = errors.New("the journal is closed")

// Log makes prepared groups durable: when Apply returns nil, the group is durable. The store implements it.
type Log interface {
	Apply(g *store.Group) error
	// Confirm durably records which group is the last durable one, so that a loss of that group is noticed. It may be
	// called while Apply runs.
	Confirm() error
}

// Options configure a journal.
type Options struct {
	Store store.Options
	Clock clock.Clock
	Log   *slog.Logger

	// Fatal is called once, with the error of the Log or of the store's background work. It must end
	// the process without any further acknowledgement. If Fatal is nil, the journal panics.
	Fatal func(error)

	// Cached is the least number of accounts, records and counters that the orderer caches; 0:
	// 65,536 of each.
	Cached int

	// BufferedGroups is the maximum number of groups that have lines in the page buffer (rows with lines that are on no
	// stored page yet); 0: 1,024. If it is negative, nothing is buffered: each group stores a page for every account
	// whose totals it changes.
	BufferedGroups int

	// Queue is the maximum number of changes that wait for a group; 0: MaxQueue. Tests that fill the queue choose a small one.
	Queue int

	// WrapLog, if set, wraps the Log to which the committer writes. Tests use it to simulate failing or
	// blocking disks.
	WrapLog func(Log) Log
}

// Journal is the only way to write to the store.
type Journal struct {
	store *store.Store
	log   Log
	clock clock.Clock
	limit size // the largest size of a group
	Due   *Due
	Stats Stats

	onNotices func(ledger.ID, []Notice)

	fatal    func(error) // called by fail
	failOnce sync.Once
	failed   chan struct{} // closed after a failure
	ended    chan struct{} // closed when the journal is closed

	mu         sync.Mutex
	wake       sync.Cond
	overlapAt  int         // guarded by mu: see defaultOverlap
	queue      []submitted // guarded by mu
	maxQueue   int         // from Options
	dequeued   int         // guarded by mu: changes taken from queue that are not in a group yet
	closed     bool
	unanswered []func(Receipt) // guarded by mu: callbacks of changes that are in no group, or whose group has failed
	prepared   int             // guarded by mu: groups that are prepared and not durable yet

	groups         chan *prepared // from the orderer to the committer
	freeGroups     chan *prepared // from the committer back to the orderer
	applied        chan struct{}  // gets a value after each group; see confirm
	stopped        sync.WaitGroup // done when the journal's goroutines have ended
	committed      atomic.Uint64  // number of the last durable group
	oldestBuffered atomic.Uint64  // number of the oldest durable group with page-buffer rows
	fences         fences         // the months that are being closed
}

// submitted is a Change in the queue.
type submitted struct {
	change *Change
	size   size
	done   func(Receipt)
}

// Stats are the writer's counters; metrics may read them at any time.
type Stats struct {
	Groups, Changes, Refused, Rows, Bytes atomic.Uint64
	Prepare, Apply                        atomic.Int64 // nanoseconds in total

	// OnGroup, if set before the first Receipt, is called for each group, on the committer's goroutine.
	OnGroup func(DurableGroup)
}

// DurableGroup describes a group that has become durable.
type DurableGroup struct {
	Changes, Rows, Bytes int
	Apply                time.Duration    // how long the Log took
	Causes               []tracing.Origin // requests that have caused changes, at most 32; valid until OnGroup returns
}

// Open opens the store in its directory and starts the writer.
func Open(o Options) (*Journal, error) {
	s, err := store.Open(o.Store)
	if err != nil {
		return nil, err
	}
	j := &Journal{
		store: s, log: s, clock: o.Clock, fatal: o.Fatal, overlapAt: defaultOverlap,
		groups: make(chan *prepared), freeGroups: make(chan *prepared, 2), applied: make(chan struct{}, 1), failed: make(chan struct{}), ended: make(chan struct{}),
	}
	j.limit.rows, j.limit.bytes = s.MaxGroup()
	j.limit.add(-removalRows, -removalBytes)
	if o.WrapLog != nil {
		j.log = o.WrapLog(s)
	}
	if j.fatal == nil {
		j.fatal = func(err error) { panic(err) }
	}
	j.wake.L = &j.mu
	j.Due = newDue(j)
	if err := j.Due.recover(o.Clock.Now()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	n, hash := s.LastGroup()
	j.committed.Store(n)
	for range 2 {
		j.freeGroups <- &prepared{group: store.NewGroup(n+1, hash)}
	}
	if j.maxQueue = o.Queue; j.maxQueue == 0 {
		j.maxQueue = MaxQueue
	}
	if o.Cached == 0 {
		o.Cached = maxCached
	}
	if o.BufferedGroups == 0 {
		o.BufferedGroups = maxBufferedGroups
	}
	w := newWriter(j, n, hash, o)
	if err := w.loadBuffer(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	j.oldestBuffered.Store(w.lowestBuffered())
	j.stopped.Add(4)
	go j.order(w)
	go j.commit()
	go j.confirm()
	go j.watch()
	return j, nil
}

// Submit hands a Change to the writer and returns at once. It calls done exactly once, or never if the store
// fails for good. The calls come in the order of commits, on the committer's goroutine, so done must not
// block. If the Change is refused before it is queued, done is called before Submit returns.
func (j *Journal) Submit(c *Change, done func(Receipt)) {
	if err := j.enqueue(c, done); err != nil {
		done(Receipt{Err: err})
	}
}

func (j *Journal) enqueue(c *Change, done func(Receipt)) error {
	assert.NoError(c.check())
	bound := c.size()
	if !bound.within(j.limit) {
		j.Stats.Refused.Add(1)
		return ledger.Refuse("posting.Submit", ledger.OutOfRange, "a change of up to %d rows and %d bytes is more than a group", bound.rows, bound.bytes)
	}
	if !c.MustRecord && j.store.LowSpace() {
		j.Stats.Refused.Add(1)
		return ledger.Refuse("posting.Submit", ledger.Unavailable, "the disk is nearly full").By(ledger.LimitDisk)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ErrStopped
	}
	if !c.MustRecord && len(j.queue)+j.dequeued >= j.maxQueue {
		j.Stats.Refused.Add(1)
		return ledger.Refuse("posting.Submit", ledger.Unavailable, "the writer's queue is full").By(ledger.LimitQueue)
	}
	j.queue = append(j.queue, submitted{c, bound, done})
	if n := len(j.queue); n == 1 || n == j.overlapAt {
		j.wake.Signal()
	}
	return nil
}

// QueueDepth returns the number of changes that wait for a group.
func (j *Journal) QueueDepth() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.queue) + j.dequeued
}

// LowSpace tells whether commands are being refused because the disk is nearly full.
func (j *Journal) LowSpace() bool { return j.store.LowSpace() }

// Bind ties the store to a keyring by the keyring's identity. If the store is already tied to
// another keyring, the error is store.ErrOtherKeyring. Bind must be called before the first
// Submit.
func (j *Journal) Bind(keyring [32]byte) error { return j.store.Bind(keyring) }

// BoundKeyring returns the identity of the keyring that the store is tied to; zeros if there is none.
func (j *Journal) BoundKeyring() [32]byte { return j.store.BoundKeyring() }

// Size returns the store's size in bytes.
func (j *Journal) Size() int64 { return j.store.Size() }

// StoreFigures returns numbers about the store's background work.
func (j *Journal) StoreFigures() store.Figures { return j.store.Figures() }

// UnverifiedBytes returns how many bytes of the files of long values have not been compared with their checksums since the store was opened. Bytes that
// were added since then do not count.
func (j *Journal) UnverifiedBytes() int64 { return j.store.UnverifiedBytes() }

// LastGroup returns the number and hash of the last durable group.
func (j *Journal) LastGroup() (uint64, [32]byte) { return j.store.LastGroup() }

// Close writes all submitted changes, stops the writer and closes the store.
func (j *Journal) Close() error {
	if err := j.stop(); err != nil {
		return err
	}
	return j.store.Close()
}

// stop makes the journal refuse further changes. It returns when all submitted ones are durable, or when the journal has failed. The error is
// ErrStopped if the journal was stopped before.
func (j *Journal) stop() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return ErrStopped
	}
	j.closed = true
	close(j.ended)
	j.wake.Signal()
	j.mu.Unlock()
	j.stopped.Wait()
	return nil
}

// keepUnanswered keeps the callback of a change that gets no receipt, because the journal has failed. Only Drop calls these
// callbacks.
func (j *Journal) keepUnanswered(done func(Receipt)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unanswered = append(j.unanswered, done)
}

// Drop sends a receipt with ErrStopped to all callers that still wait for a journal that has failed, and makes the journal refuse further changes. It
// is for a simulation, which continues after the simulated process has ended; the simulation must not pass these errors on to its clients. Abandon
// must be called afterwards.
func (j *Journal) Drop() {
	_ = j.stop() // it was not stopped before
	for _, done := range j.unanswered {
		done(Receipt{Err: ErrStopped})
	}
}

// Abandon closes the store of a journal that was dropped. See store.Abandon.
func (j *Journal) Abandon() { j.store.Abandon() }

// fail ends the process: nothing more is written or acknowledged.
func (j *Journal) fail(err error) {
	j.failOnce.Do(func() {
		close(j.failed)
		j.mu.Lock()
		j.wake.Signal()
		j.mu.Unlock()
		j.fatal(err)
	})
}

// watch ends the process when the store's background work (a flush or a compaction) fails, even while no
// group is applied, because later work of Badger could damage more.
func (j *Journal) watch() {
	defer j.stopped.Done()
	select {
	case <-j.store.Failed():
		j.fail(j.store.Failure())
	case <-j.ended:
	}
}

// If at least defaultOverlap changes wait, a group is prepared although the previous group is not durable yet. With fewer changes it is better to
// wait: a group that is prepared early takes no further changes, and each group costs a sync.
const defaultOverlap = 1_024

// take waits for submitted changes and returns them. The queue reuses the memory of the previous batch. ok is
// false when the journal is closed and no change is left.
func (j *Journal) take(previous []submitted) (batch []submitted, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.queue) < j.overlapAt && !j.closed && (len(j.queue) == 0 || j.prepared > 0 && !j.hasFailed()) {
		j.wake.Wait()
	}
	j.gather()
	batch, j.queue = j.queue, previous[:0]
	j.dequeued = len(batch)
	return batch, len(batch) > 0
}

// gather lets other goroutines run as long as they submit changes, so that all changes that are ready to be submitted get into
// one group. If processors are idle, that takes hardly any time. The caller holds mu, which gather releases meanwhile.
func (j *Journal) gather() {
	for n := 0; n < len(j.queue) && len(j.queue) < j.overlapAt; {
		n = len(j.queue)
		j.mu.Unlock()
		runtime.Gosched()
		j.mu.Lock()
	}
}

// countPrepared records that a group was prepared (1) or has become durable (-1).
func (j *Journal) countPrepared(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.prepared += n
	j.wake.Signal()
}

func (j *Journal) hasFailed() bool {
	select {
	case <-j.failed:
		return true
	default:
		return false
	}
}

// countGrouped records that n of the changes that take returned have left the queue for a group, or were
// dropped after a failure.
func (j *Journal) countGrouped(n int) {
	j.mu.Lock()
	j.dequeued -= n
	j.mu.Unlock()
}
