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

// Bounds of the writer. A group consists of the changes that become durable with one sync.
const (
	MaxQueue  = 32_768         // changes that wait for a group; when the queue is full, further commands are refused
	MaxGroup  = 8_192          // changes in a group
	MaxRecord = 1<<20 + 64<<10 // bytes of a record's payload: a request of 1 MiB, and 64 KiB for fields that the service adds
	MaxSealed = 2 << 10        // bytes of a record's sealed row
	MaxClaim  = 1_200          // bytes of a claim's key (255 characters of four bytes, plus a margin), and bytes of its owner
	MaxTexts  = 1_024          // bytes of an event's name and states together
	MaxEvents = 1_024          // events of one Step
	MaxSteps  = 1_024          // steps of one Change
	maxCached = 65_536         // entries in each generation of each of the orderer's caches; see Options.Cached
)

// ErrStopped means that the journal is closed or has failed, because the process is ending or no longer leads the shard.
var ErrStopped = errors.New("the journal is closed")

// Log makes prepared groups durable: when Apply returns nil, the group is durable. The store implements it.
type Log interface {
	Apply(g *store.Group) error
	// Confirm durably records which group is the last durable one, so that the next start notices if that group is lost.
	// Confirm may be called while Apply runs.
	Confirm() error
}

// Options configure a journal.
type Options struct {
	Store store.Options
	Clock clock.Clock
	Log   *slog.Logger

	// Fatal is called once, if the Log or the store's background work fails. It must end the process, and no further change may
	// be acknowledged. If Fatal is nil, the journal panics.
	Fatal func(error)

	// Cached is the minimum number of entries that the orderer keeps in each of its caches: of accounts, lists, records and
	// counters. 0 means 65,536.
	Cached int

	// BufferedGroups is the maximum number of groups whose lines are in the page buffer. The page buffer contains the lines
	// that are not on a stored page yet. If more groups have lines in it, the lines of the oldest group are moved to stored
	// pages. If BufferedGroups is 0, the maximum is 1,024. If it is negative, nothing is buffered: each group stores a page for
	// every account and list to which it adds lines.
	BufferedGroups int

	// Queue is the maximum number of changes that wait for a group; 0 means MaxQueue. Tests that fill the queue choose a small
	// maximum.
	Queue int

	// WrapLog, if not nil, is called with the store's Log, and returns the Log that the journal uses instead. Tests use it to
	// simulate disks that fail or block.
	WrapLog func(Log) Log
}

// Journal is the only way to write to the store.
type Journal struct {
	store *store.Store
	log   Log
	clock clock.Clock
	limit size // the largest size of a group

	ownsStore bool // Close closes the store
	Due       *DueQueue
	Stats     Stats

	onNotices func(ledger.ID, []Notice)

	fatal    func(error) // Options.Fatal; called only by the method fail
	failOnce sync.Once
	failed   chan struct{} // closed after a failure
	ended    chan struct{} // closed when the journal is closed

	mu                  sync.Mutex
	wake                sync.Cond
	overlapAt           int               // guarded by mu; see defaultOverlap
	queue               []submittedChange // guarded by mu
	maxQueue            int               // maximum number of changes that wait for a group
	dequeuedCount       int               // guarded by mu; number of changes that were taken from queue and are not in a group yet
	closed              bool
	unansweredCallbacks []func(Receipt) // guarded by mu; callbacks of changes that got no receipt because the journal failed
	preparedGroups      int             // guarded by mu; number of groups that are prepared but not durable yet

	groups         chan *preparedGroup // prepared groups, from the orderer to the committer
	freeGroups     chan *preparedGroup // groups that the committer gives back, for the orderer to fill again
	groupApplied   chan struct{}       // receives a value when a group has become durable; see confirm
	loops          sync.WaitGroup      // to wait for the end of the journal's goroutines
	lastDurable    atomic.Uint64       // number of the last durable group
	oldestBuffered atomic.Uint64       // number of the oldest durable group that still has page-buffer rows
	bufferIndex    *bufferIndex        // lines of the page buffer in memory, for views
	fences         fences              // month that each organization is closing
	placements     placements          // organizations that have moved or were to move
	watched        sync.Map            // ledger.ID → *Removals
	watchedCount   atomic.Int32        // number of elements of watched
}

// submittedChange is a Change in the queue.
type submittedChange struct {
	change *Change
	size   size
	done   func(Receipt)
}

// Stats counts what the writer has done. Metrics may read the fields at any time.
type Stats struct {
	Groups, Changes, Refused, Rows, Bytes atomic.Uint64
	Prepare, Apply                        atomic.Int64 // total times in nanoseconds

	// OnGroup, if not nil, is called for each group that has become durable, on the committer's goroutine. It must be set
	// before the first Change is submitted.
	OnGroup func(DurableGroup)
}

// DurableGroup describes a group that has become durable.
type DurableGroup struct {
	Changes, Rows, Bytes int
	Apply                time.Duration    // duration of the call of Log.Apply
	Causes               []tracing.Origin // requests that caused the group's changes, at most 32; valid until OnGroup returns
}

// Open opens the store and starts the writer. Closing the journal closes the store.
func Open(o Options) (*Journal, error) {
	s, err := store.Open(o.Store)
	if err != nil {
		return nil, err
	}
	j, err := OpenOn(s, o)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	j.ownsStore = true
	return j, nil
}

// OpenOn starts the writer on a store that is open already, and ignores o.Store. Closing the journal does not close the store.
func OpenOn(s *store.Store, o Options) (*Journal, error) {
	j := &Journal{
		store: s, log: s, clock: o.Clock, fatal: o.Fatal, overlapAt: defaultOverlap, bufferIndex: newBufferIndex(),
		groups: make(chan *preparedGroup), freeGroups: make(chan *preparedGroup, 2), groupApplied: make(chan struct{}, 1), failed: make(chan struct{}), ended: make(chan struct{}),
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
	snap := s.Snapshot()
	err := j.placements.load(snap)
	snap.Close()
	if err != nil {
		return nil, err
	}
	j.Due = newDueQueue(j)
	if err := j.Due.recover(o.Clock.Now()); err != nil {
		return nil, err
	}
	n, hash := s.LastGroup()
	j.lastDurable.Store(n)
	for range 2 {
		j.freeGroups <- &preparedGroup{group: store.NewGroup(n+1, hash)}
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
		return nil, err
	}
	j.oldestBuffered.Store(w.lowestBuffered())
	j.loops.Add(4)
	go j.runOrderer(w)
	go j.runCommitter()
	go j.runConfirmer()
	go j.watchStore()
	return j, nil
}

// Submit passes a Change to the writer and returns at once. The function done is called with the receipt, exactly once, or
// never if the journal fails. The committer's goroutine calls the functions of all changes in the order in which the changes
// become durable, so done must not block. If the Change is refused before it is queued, done is called before Submit returns.
func (j *Journal) Submit(c *Change, done func(Receipt)) {
	if err := j.enqueue(c, done); err != nil {
		done(Receipt{Err: err})
	}
}

// SubmitAndWait is like Submit, but returns the receipt. If the journal fails, the call lasts until the journal is dropped or the
// process ends.
func (j *Journal) SubmitAndWait(c *Change) Receipt {
	receipts := make(chan Receipt, 1)
	j.Submit(c, func(r Receipt) { receipts <- r })
	return <-receipts
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
	if !c.MustRecord && len(j.queue)+j.dequeuedCount >= j.maxQueue {
		j.Stats.Refused.Add(1)
		return ledger.Refuse("posting.Submit", ledger.Unavailable, "the writer's queue is full").By(ledger.LimitQueue)
	}
	j.queue = append(j.queue, submittedChange{c, bound, done})
	if n := len(j.queue); n == 1 || n == j.overlapAt {
		j.wake.Signal()
	}
	return nil
}

// QueueDepth returns the number of changes that wait for a group.
func (j *Journal) QueueDepth() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.queue) + j.dequeuedCount
}

// LowSpace tells whether commands are refused at present because the disk is nearly full.
func (j *Journal) LowSpace() bool { return j.store.LowSpace() }

// Bind records the identity of the keyring with which the store is used. If the store is already used with another keyring, the
// error is store.ErrOtherKeyring. Bind must be called before the first Submit.
func (j *Journal) Bind(keyring [32]byte) error { return j.store.Bind(keyring) }

// BoundKeyring returns the identity of the keyring that Bind has recorded, or zeros if there is none.
func (j *Journal) BoundKeyring() [32]byte { return j.store.BoundKeyring() }

// Size returns the store's size in bytes.
func (j *Journal) Size() int64 { return j.store.Size() }

// StoreFigures returns figures about the store's background work, for metrics.
func (j *Journal) StoreFigures() store.Figures { return j.store.Figures() }

// UnverifiedBytes returns the number of bytes, in the store's files of long values, that were not compared with their checksums
// since the store was opened. Bytes that were written since then do not count.
func (j *Journal) UnverifiedBytes() int64 { return j.store.UnverifiedBytes() }

// LastGroup returns the number and hash of the last durable group.
func (j *Journal) LastGroup() (uint64, [32]byte) { return j.store.LastGroup() }

// Close writes all submitted changes, stops the writer and, unless the journal was opened on an open store, closes the store.
func (j *Journal) Close() error {
	if err := j.stop(); err != nil {
		return err
	}
	if !j.ownsStore {
		return nil
	}
	return j.store.Close()
}

// stop makes the journal refuse further changes. It returns when all submitted changes have got their receipts, or when the
// journal has failed. If the journal was stopped before, the error is ErrStopped.
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
	j.loops.Wait()
	return nil
}

// keepUnanswered keeps the callback of a change that gets no receipt because the journal has failed. Only Drop calls the kept
// callbacks.
func (j *Journal) keepUnanswered(done func(Receipt)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unansweredCallbacks = append(j.unansweredCallbacks, done)
}

// Drop ends a journal that has failed: it sends a receipt with ErrStopped to all callers that still wait, and makes the journal
// refuse further changes. Only simulations use it, because they continue after the simulated process has ended. A simulation
// must not pass ErrStopped on to its clients. Abandon must be called after Drop.
func (j *Journal) Drop() {
	_ = j.stop() // the error is nil, because the journal was not stopped before
	for _, done := range j.unansweredCallbacks {
		done(Receipt{Err: ErrStopped})
	}
}

// Abandon closes the store after Drop. See store.Abandon.
func (j *Journal) Abandon() { j.store.Abandon() }

// fail calls the function that ends the process. After the call nothing is written or acknowledged any more.
func (j *Journal) fail(err error) {
	j.failOnce.Do(func() {
		close(j.failed)
		j.mu.Lock()
		j.wake.Signal()
		j.mu.Unlock()
		j.fatal(err)
	})
}

// watchStore ends the process when the store's background work (a flush or a compaction) fails. It does not wait for the next
// group, because Badger would continue to work and could damage more.
func (j *Journal) watchStore() {
	defer j.loops.Done()
	select {
	case <-j.store.Failed():
		j.fail(j.store.Failure())
	case <-j.ended:
	}
}

// defaultOverlap is the number of waiting changes from which on the orderer prepares the next group before the previous group
// is durable. With fewer changes it is better to wait, because no more changes can be added to a prepared group, and each group
// costs a sync.
const defaultOverlap = 1_024

// take waits for submitted changes, and returns them as a batch. The memory of previous, which was the batch before, goes back
// to the queue. If the journal is closed and no change is left, ok is false.
func (j *Journal) take(previous []submittedChange) (batch []submittedChange, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.queue) < j.overlapAt && !j.closed && (len(j.queue) == 0 || j.preparedGroups > 0 && !j.hasFailed()) {
		j.wake.Wait()
	}
	j.gather()
	batch, j.queue = j.queue, previous[:0]
	j.dequeuedCount = len(batch)
	return batch, len(batch) > 0
}

// gather lets other goroutines run as long as they submit changes, so that all changes that are about to be submitted get into
// one group. If processors are idle, gather takes hardly any time. The caller must hold j.mu; gather releases it while other
// goroutines run.
func (j *Journal) gather() {
	for n := 0; n < len(j.queue) && len(j.queue) < j.overlapAt; {
		n = len(j.queue)
		j.mu.Unlock()
		runtime.Gosched()
		j.mu.Lock()
	}
}

// countPrepared adds n to the number of groups that are prepared but not durable. n is 1 after a group was prepared, and -1
// after a group has become durable.
func (j *Journal) countPrepared(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.preparedGroups += n
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

// countGrouped records that n changes of the batch were put into a group, or will get no receipt because the journal has
// failed.
func (j *Journal) countGrouped(n int) {
	j.mu.Lock()
	j.dequeuedCount -= n
	j.mu.Unlock()
}
