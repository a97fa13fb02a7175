package simulation

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	directoryactor "mizan/actors/directory"
	"mizan/actors/provider/simulator"
	"mizan/internal/clock"
	"mizan/posting/log"
)

// startTime is the time at which a world's business clock begins. It is close to the end of a month.
var startTime = time.Date(2026, 9, 30, 10, 15, 30, 123456000, time.UTC)

// world is the run of one plan. It contains the processes of the service, which run one after the other, the machine's disk,
// the provider, the merchants and their servers, and the clock. All methods must be called within one bubble of
// testing/synctest.
type world struct {
	*scheduler
	plan    Plan
	random  *rand.Rand // random numbers of the round; only the world's goroutine uses it
	sandbox *directoryactor.Sandbox
	limit   string // id of the monthly limit
	link    string // id of the payment link
	root    string // folder with the world's files
	trace   hash.Hash64
	logf    func(string, ...any) // if nil, nothing is logged

	clock       clock.Clock
	manual      *clock.Manual // the business clock if it is manual, otherwise nil
	leaping     *leapingClock // the business clock if it can leap, otherwise nil
	restartTime time.Time     // time from which the manual clock continues after a restart

	rail       *rail
	receivers  *receivers
	node       *node         // nil while no process runs
	cluster    *clusterWorld // nil in a world of one machine
	keyringDir string        // folder with the keyring, for backups
	current    *engine       // the last engine; nil before the first one
	disk       *machineDisk
	unsynced   unsyncedChanges // changes of earlier processes that are not durable yet

	generation  int
	twice       bool // calls may reach the provider twice
	isDiskFull  bool
	syncsFailed int  // number of syncs that have failed so far
	isHarmed    bool // a fault may have damaged durable content, so a start may be refused and the checker may find a fault
	isCaught    bool // the service or the checker has noticed the damage, which ends the world
	checksNext  bool // the checker runs on the store when the next process starts
	crashCount  int
	checks      int
	book        *book
	inFlight    int // number of operations under way; only the world's goroutine uses it
	exclusive   bool
	ended       chan *operation

	mu           sync.Mutex
	answers      []byte // guarded by mu
	answerCount  int    // guarded by mu
	refusalCount int    // guarded by mu
	violations   []string
}

// Result is the result of running a plan.
type Result struct {
	Plan       Plan
	Violations []string
	Crashes    int
	Checks     int    // number of checks of a whole store
	Answers    int    // number of answers that clients got
	Refusals   int    // number of answers with status 503: the service had no room or could not store anything
	Trace      uint64 // a hash of all decisions and answers
}

// Run runs a plan. The world begins with the files of an image. Run must be called within a bubble of testing/synctest. When
// Run returns, all goroutines that it has started have ended.
func Run(plan Plan, from *Image, root string, logf func(string, ...any)) Result {
	w := newWorld(plan, root, logf)
	w.sandbox, w.limit, w.link = from.sandbox, from.limit, from.link
	return w.result(plan, w.runRounds(from))
}

// RunCluster runs a plan with several nodes, in the way of Run.
func RunCluster(plan Plan, from *ClusterImage, root string, logf func(string, ...any)) Result {
	w := newWorld(plan, root, logf)
	w.sandbox, w.limit, w.link = from.sandbox, from.limit, from.link
	return w.result(plan, newClusterWorld(w).runRounds(from))
}

func (w *world) result(plan Plan, err error) Result {
	if err != nil {
		w.recordViolation("%v", err)
	}
	return Result{plan, w.violations, w.crashCount, w.checks, w.answerCount, w.refusalCount, w.trace.Sum64()}
}

func newWorld(plan Plan, root string, logf func(string, ...any)) *world {
	w := &world{scheduler: newScheduler(plan.Seed), plan: plan, root: root, trace: fnv.New64a(), logf: logf, ended: make(chan *operation, 1024), twice: plan.Faults.TwiceCalls}
	w.resumeAll()
	w.book, w.receivers, w.rail = newBook(w), newReceivers(w), &rail{world: w}
	return w
}

// runRounds runs the rounds of the plan. If there is no violation, it calls checkWithoutFaults at the end.
func (w *world) runRounds(from *Image) (err error) {
	w.startClock()
	if err := os.MkdirAll(w.generationDir(), 0o700); err != nil {
		return err
	}
	if err := copyFiles(from.dir, w.generationDir()); err != nil {
		return err
	}
	w.rail.inner, err = simulator.Open(simulator.Options{
		Path: filepath.Join(w.root, simulatorLog), Clock: worldClock{w}, BaseURL: baseURL, Key: make([]byte, simulator.KeySize), // the provider's key
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.rail.inner.Close()) }()
	for i := range w.plan.Rounds {
		if len(w.violations) > 0 || w.isCaught {
			return nil
		}
		w.round(i)
	}
	if len(w.violations) == 0 && !w.isCaught {
		w.checkWithoutFaults()
	}
	return nil
}

const simulatorLog = "simulator.log"

func (w *world) generationDir() string {
	return filepath.Join(w.root, fmt.Sprintf("node-%d", w.generation))
}

// machines returns the machines of a cluster.
func (w *world) machines() []*machine {
	if w.cluster == nil {
		return nil
	}
	return w.cluster.machines[:]
}

func (w *world) startClock() {
	if w.plan.Manual {
		w.manual, w.restartTime = clock.NewManual(startTime), startTime
		w.setClock(w.manual)
		return
	}
	w.leaping = &leapingClock{offset: time.Until(startTime)}
	w.setClock(w.leaping)
}

func (w *world) setClock(c clock.Clock) { w.locked(func() { w.clock = c }) }

func (w *world) clockNow() time.Time {
	w.mu.Lock()
	c := w.clock
	w.mu.Unlock()
	return c.Now()
}

// worldClock returns the time of the current process's clock. It is for parts of the world that outlive a process.
type worldClock struct{ *world }

// Now implements clock.Clock.
func (c worldClock) Now() time.Time { return c.clockNow() }

func (w *world) locked(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
}

// persistClock stores the time from which the manual clock continues after a restart.
func (w *world) persistClock(at time.Time) error {
	if !w.isKilled() {
		w.locked(func() { w.restartTime = at })
	}
	return nil
}

// round starts a process, takes the steps of round i, and ends the process.
func (w *world) round(i int) {
	r := w.plan.Rounds[i]
	w.random = rand.New(rand.NewPCG(r.Seed, w.plan.Seed))
	w.traceDecision("round %d: %d steps, then %v", i, r.Steps, r.End)
	if i > 0 && w.random.IntN(3) == 0 { // for a while no process runs
		w.resumeAll() // so that the provider does not wait for the scheduler
		w.pass([]time.Duration{time.Second, 15 * time.Second, 2 * time.Minute, time.Hour}[w.random.IntN(4)])
	}
	if !w.start(r) {
		return
	}
	w.setPasses()
	w.revive()
	for step := range r.Steps {
		synctest.Wait()
		w.collect()
		if len(w.violations) > 0 {
			break
		}
		if err := w.node.failure(); err != nil {
			w.traceDecision("step %d: the process ends: %v", step, w.withoutRoot(err))
			break
		}
		if w.isBeforeFirstSync() && w.random.IntN(8) == 0 {
			w.traceDecision("step %d: it ends at a rare place", step)
			break
		}
		w.step()
	}
	w.finish(r.End)
}

// isBeforeFirstSync returns whether a file is about to be synced for the first time, because the log begins a segment. This is
// rare, and a crash at this point is more likely to find a bug than a crash elsewhere.
func (w *world) isBeforeFirstSync() bool {
	return slices.ContainsFunc(w.list(), func(p *waitingGoroutine) bool { return p.kind == waitDisk && p.number == 0 })
}

// setPasses chooses at random how often operations of each kind wait in this round.
func (w *world) setPasses() {
	for kind := range waitKinds {
		w.setPass(kind, []float64{0, 0.5, 0.9, 1}[w.random.IntN(4)])
	}
}

// start starts a process. It returns false if the world can't continue. If the plan has the fault CrashStarts, the process may
// crash during its start. In that case start tries again.
func (w *world) start(r Round) bool {
	type started struct {
		node *node
		err  error
	}
	for attempt := 0; ; attempt++ {
		w.startManualClock()
		syncsFailed := w.syncsFailed
		result := make(chan started, 1)
		w.checksNext = w.random.IntN(2) == 0
		mayCrash := w.plan.Faults.CrashStarts && attempt < 3 && w.random.IntN(3) == 0
		if mayCrash {
			w.setPass(waitDisk, 0)
			w.revive()
		} else {
			w.resumeAll()
		}
		dir := w.generationDir()
		go func() {
			n, err := w.startNode(dir)
			result <- started{n, err}
		}()
		for {
			synctest.Wait()
			waiting := w.list()
			if len(waiting) == 0 {
				break
			}
			if w.random.IntN(4) == 0 {
				w.traceDecision("the start is cut off at %v", waiting[0])
				w.crash(r.End, nil, func() {
					if s := <-result; s.err == nil {
						s.node.end(w)
					}
				})
				break
			}
			w.decide(waiting[w.random.IntN(len(waiting))])
		}
		if w.generationDir() != dir {
			continue
		}
		s := <-result
		if w.isCaught = w.isCaught || s.err != nil && w.isHarmed; w.isCaught {
			w.traceDecision("damage is noticed")
			if s.err == nil {
				s.node.end(w)
			}
			return false
		}
		if s.err == nil {
			w.node = s.node
			return true
		}
		if w.explains(syncsFailed) && attempt < 5 {
			w.traceDecision("the start is refused: %v", w.withoutRoot(s.err))
			w.isDiskFull = false
			w.crash(Kill, nil, func() {})
			continue
		}
		w.recordViolation("the service does not start: %v", s.err)
		return false
	}
}

func (w *world) startManualClock() {
	if w.manual != nil {
		w.manual = clock.NewManual(w.restartTime)
		w.setClock(w.manual)
	}
}

// finish ends the process in the way that the plan says.
func (w *world) finish(end End) {
	if end == Stop && w.quiesce() {
		w.node.end(w)
		w.unsynced = w.disk.takeUnsynced()
		w.node = nil
		w.collectAll()
		return
	}
	n := w.node
	w.node = nil
	w.crash(end, n, func() { n.end(w) })
	w.collectAll()
}

// quiesce lets all operations continue and waits until they have ended. If the process has failed or fails meanwhile, it
// returns false.
func (w *world) quiesce() bool {
	if w.node.failure() != nil {
		return false
	}
	w.traceDecision("stop")
	w.resumeAll()
	w.collectAll()
	// A merchant's server may hang. Wait until all calls to such servers have timed out. Otherwise the stop of the process
	// would wait for these calls while it holds a lock, and no simulated time would pass.
	time.Sleep(20 * time.Second)
	return w.node.failure() == nil
}

// crash ends the process, and copies the files for the next process. It disconnects the goroutines of the process from the
// world and then calls wait, which must wait until they have ended.
func (w *world) crash(end End, n *node, wait func()) {
	w.crashCount++
	w.book.disturb()
	synctest.Wait()
	from := w.generationDir()
	w.generation++
	to := w.generationDir()
	// A starting process writes the log's last frame again, although this frame may be durable already. A flipped bit would
	// damage the durable frame, and the next process would refuse to start. So no bit flips then.
	var err error
	if w.unsynced, err = w.copyMachine(end, w.disk, from, to, n != nil); err != nil {
		w.recordViolation("the simulated crash: %v", err)
	}
	if n != nil {
		n.cutClients()
	}
	w.receivers.cut(w.current)
	if w.disk != nil {
		w.disk.crash()
	}
	w.kill()
	wait()
	w.isDiskFull = false
	if err := os.RemoveAll(from); err != nil {
		w.recordViolation("the simulated crash: %v", err)
	}
}

// copyMachine copies the files of a machine whose process ends, for the next process. It returns the changes that are not durable
// yet. disk may be nil.
func (w *world) copyMachine(end End, disk *machineDisk, from, to string, flips bool) (unsynced unsyncedChanges, err error) {
	if err := copyFiles(from, to); err != nil {
		return unsynced, err
	}
	switch {
	case end == PowerCut && disk != nil:
		o := newOutage(w.random, w.plan.Faults)
		if !flips {
			o.flips = 0
		}
		text, err := disk.cutPower(to, w.random, o)
		w.traceDecision("power cut: %s", text)
		if err == nil && w.random.IntN(2) == 0 {
			err = w.probeLog(filepath.Join(to, disk.data, logFolder))
		}
		return unsynced, errors.Join(err, dropRemoved(to))
	case end == PowerCut:
		return unsynced, dropRemoved(to)
	case disk != nil: // the machine keeps running
		unsynced = disk.takeUnsynced()
	}
	return unsynced, nil
}

// probeLog copies the log after a power cut and removes the last segment of the copy. What remains must not look like a
// complete log.
func (w *world) probeLog(dir string) error {
	segments, err := filepath.Glob(filepath.Join(dir, "segment-*"))
	if err != nil || len(segments) < 2 {
		return err
	}
	var last [2]uint64 // number of the last frame: first with all segments, then without the last segment
	for i := range last {
		copied := filepath.Join(w.root, "probe")
		err := errors.Join(os.Mkdir(copied, 0o700), copyFiles(dir, copied))
		if err == nil && i == 1 {
			err = os.Remove(filepath.Join(copied, filepath.Base(segments[len(segments)-1])))
		}
		if err == nil {
			last[i], err = lastFrame(copied)
		}
		if removed := os.RemoveAll(copied); removed != nil {
			return removed
		}
		if err != nil {
			return nil // the missing segment was noticed, or the log is damaged, which the next start notices
		}
	}
	if last[1] < last[0] {
		w.recordViolation("without its last segment, the log ends with frame %d instead of %d, and looks whole", last[1], last[0])
	}
	return nil
}

// lastFrame returns the number of the last frame of a log.
func lastFrame(dir string) (n uint64, err error) {
	l, err := log.Open(log.Options{Dir: dir, SegmentSize: segment})
	if err != nil {
		return 0, err
	}
	m, err := l.Replay(l.First(), func(log.Frame) error { return nil })
	return m.N, errors.Join(err, l.Close())
}

// explains returns whether a process may have refused to start because of a fault: a sync during the start has failed, or the
// disk is full. syncsFailed is the number of syncs that had failed before the start.
func (w *world) explains(syncsFailed int) bool {
	return w.syncsFailed > syncsFailed || w.isDiskFull
}

// recordViolation records that the service has broken an invariant.
func (w *world) recordViolation(format string, values ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.violations) < 20 {
		w.violations = append(w.violations, fmt.Sprintf(format, values...))
	}
}

func (w *world) hasViolations() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.violations) > 0
}

// traceDecision adds a decision to the trace, which is a hash of all decisions.
func (w *world) traceDecision(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	_, _ = w.trace.Write([]byte(text)) // a hash never fails
	if w.logf != nil {
		w.logf("%s", text)
	}
}

// withoutRoot returns the text of an error without the world's directory, which differs in a replay.
func (w *world) withoutRoot(err error) string { return strings.ReplaceAll(err.Error(), w.root, "") }

// waitForGoroutines waits, within a bubble, until the goroutines of closed connections have ended.
func waitForGoroutines() { time.Sleep(time.Minute) }
