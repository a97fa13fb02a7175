package simulation

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

// inBubble calls fn in a bubble (an isolated group of goroutines) of testing/synctest. Before that it starts, outside the
// bubble, the goroutines that never end. It sets GOMAXPROCS to 1, so that replays differ less.
func inBubble(t *testing.T, fn func(*testing.T)) {
	t.Helper()
	testkit.NotUnderRace(t, "a bubble is slow under it, and other tests race the same code")
	if bubbles.Add(1) > 1 {
		t.Skip("NOT TRIED: a process has one bubble, because pools keep channels of the first one")
	}
	startDate(t)
	go endRestlessWorlds()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		fn(t)
		waitForGoroutines()
	})
}

var bubbles atomic.Int32

// running is the current world, with the processor time that the process had used when the world began.
var running atomic.Pointer[struct {
	seed  uint64
	began time.Duration
}]

// maxWorldTime is the processor time after which a world counts as an endless loop. A normal world takes less than a second.
const maxWorldTime = 30 * time.Second

// endRestlessWorlds ends the process if a world runs in an endless loop. No simulated time passes in such a world's bubble, so
// only a goroutine in real time can notice it.
func endRestlessWorlds() {
	for range time.Tick(time.Second) {
		if r := running.Load(); r != nil && processorTime()-r.began > maxWorldTime {
			panic(fmt.Sprintf("seed %d: the world does not come to rest", r.seed))
		}
	}
}

// processorTime returns the processor time that the process has used.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// startDate serves one HTTP request. This starts the goroutine that keeps the current date for HTTP headers.
func startDate(t *testing.T) {
	t.Helper()
	l := newPipeListener()
	server := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	ours, theirs := net.Pipe()
	l.conns <- theirs
	r, err := http.NewRequest(http.MethodGet, "http://localhost/", nil)
	if err == nil {
		go func() { _ = r.Write(ours) }()
		_, err = ours.Read(make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = ours.Close()
	if err := server.Shutdown(); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// monotonic returns real time, which a bubble hides.
func monotonic() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // never fails for this clock
	return time.Duration(ts.Nano())
}

// planRunner runs plans, one after the other, in one bubble.
type planRunner struct {
	t       *testing.T
	dir     string
	image   *Image        // nil if no plan has one node
	cluster *ClusterImage // nil if no plan has several nodes
}

func newLaboratory(t *testing.T) *planRunner {
	t.Helper()
	dir, err := os.MkdirTemp(memoryFolder(), "mizan-simulation-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &planRunner{t: t, dir: dir}
}

// prepare makes the image with which the worlds of a plan begin.
func (l *planRunner) prepare(plan Plan) {
	l.t.Helper()
	var err error
	switch {
	case plan.Nodes > 0 && l.cluster == nil:
		l.cluster, err = NewClusterImage(filepath.Join(l.dir, "cluster"))
	case plan.Nodes == 0 && l.image == nil:
		l.image, err = NewImage(filepath.Join(l.dir, "image"))
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// memoryFolder returns a folder in memory; empty if there is none. The files need no real disk, because the simulated disk decides
// which writes are durable.
func memoryFolder() string {
	const folder = "/dev/shm"
	if info, err := os.Stat(folder); err == nil && info.IsDir() {
		return folder
	}
	return ""
}

func (l *planRunner) run(plan Plan, logf func(string, ...any)) Result {
	root := filepath.Join(l.dir, "world")
	defer func() { _ = os.RemoveAll(root) }()
	l.prepare(plan)
	cryptotest.SetGlobalRandom(l.t, plan.Seed)
	running.Store(&struct {
		seed  uint64
		began time.Duration
	}{plan.Seed, processorTime()})
	if plan.Nodes > 0 {
		return RunCluster(plan, l.cluster, root, logf)
	}
	return Run(plan, l.image, root, logf)
}

// report fails the test if a plan has led to a violation. The message has the plan, the number of replays that led to the same
// violation, and a shorter plan that does so too. MIZAN_REPLAYS is the number of replays. If it is 0, no shorter plan is
// searched for.
func (l *planRunner) report(r Result) {
	kind := Kind(r.Violations[0])
	fails := func(p Plan) bool {
		return slices.ContainsFunc(l.run(p, nil).Violations, func(v string) bool { return Kind(v) == kind })
	}
	replays := int(environment(l.t, "MIZAN_REPLAYS", 20))
	repeated := 0
	for range replays {
		if fails(r.Plan) {
			repeated++
		}
	}
	l.t.Errorf("seed %d, trace %x; %d of %d replays show the same:\n  %s\nplan: %v", r.Plan.Seed, r.Trace, repeated, replays, strings.Join(r.Violations, "\n  "), r.Plan)
	if repeated == replays && replays > 0 {
		l.t.Errorf("shorter, to be kept in testdata/plans: %v", Shrink(r.Plan, fails))
	}
}

// count adds up the figures of several worlds.
type count struct{ worlds, crashes, checks, answers, refusals int }

func (c *count) add(r Result) {
	c.worlds, c.crashes, c.checks, c.answers, c.refusals = c.worlds+1, c.crashes+r.Crashes, c.checks+r.Checks, c.answers+r.Answers, c.refusals+r.Refusals
}

func (c count) String() string {
	return fmt.Sprintf("%d worlds, %d crashes, %d checks of a store, %d answers, %d of them for want of room", c.worlds, c.crashes, c.checks, c.answers, c.refusals)
}

// environment returns a variable as a number, or the default.
func environment(t *testing.T, name string, value uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return value
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// The test runs the plans in testdata, and then worlds for the time in MIZAN_SOAK, or for a few seconds. MIZAN_SEED sets the first
// seed and leaves out the plans in testdata. Without MIZAN_SEED the worlds are the same in every run; `make simulate` runs others.
// MIZAN_PLAN is a plan that is run alone. MIZAN_TRACE=1 prints every decision.
func TestWorldsHaveNoViolations(t *testing.T) {
	budget := 20 * time.Second
	if testing.Short() {
		budget = 2 * time.Second
	}
	if d, isSet := testseed.SoakTimeIfSet(t); isSet {
		budget = d
	}
	var plans []Plan
	switch {
	case os.Getenv("MIZAN_PLAN") != "":
		plans, budget = keptPlans(t), 0
	case os.Getenv(testseed.SeedVariable) == "":
		plans = keptPlans(t)
	}
	seed, kinds := testseed.SeedOr(t, 1), kindsOfPlans(t)
	inBubble(t, func(t *testing.T) {
		l := newLaboratory(t)
		var logf func(string, ...any)
		if os.Getenv("MIZAN_TRACE") != "" {
			logf = t.Logf
		}
		for _, p := range plans {
			if r := l.run(p, logf); len(r.Violations) > 0 {
				t.Errorf("%v:\n  %s", p, strings.Join(r.Violations, "\n  "))
			}
		}
		t.Logf("%d kept plans", len(plans))
		for i, makePlan := range kinds {
			share := budget
			if i > 0 { // a few worlds of three nodes; they are slow, and MIZAN_NODES=3 runs more of them
				share /= 10
			}
			l.runFor(share, seed, makePlan, logf)
		}
	})
}

// kindsOfPlans returns the functions that make plans: MIZAN_NODES selects worlds of one or of three nodes. Without it, a test runs
// both, one after the other.
func kindsOfPlans(t *testing.T) []func(uint64) Plan {
	switch n := environment(t, "MIZAN_NODES", 0); n {
	case 0:
		return []func(uint64) Plan{NewPlan, NewClusterPlan}
	case 1:
		return []func(uint64) Plan{NewPlan}
	case nodes:
		return []func(uint64) Plan{NewClusterPlan}
	default:
		t.Fatalf("MIZAN_NODES=%d: 1 or %d", n, nodes)
		return nil
	}
}

// runFor runs worlds with the seeds from the given one on, until the time is over or one has a violation.
func (l *planRunner) runFor(budget time.Duration, seed uint64, makePlan func(uint64) Plan, logf func(string, ...any)) {
	var total count
	l.prepare(makePlan(seed))
	began := monotonic()
	for ; monotonic()-began < budget && !l.t.Failed(); seed++ {
		r := l.run(makePlan(seed), logf)
		total.add(r)
		if len(r.Violations) > 0 {
			l.report(r)
		}
	}
	took := monotonic() - began
	l.t.Logf("%d nodes: %v in %v: %.1f crashes a second", max(makePlan(seed).Nodes, 1), total, took.Round(time.Second), float64(total.crashes)/took.Seconds())
}

// keptPlans returns the plan in MIZAN_PLAN or, if that is not set, the plans in testdata, each of which has failed once.
func keptPlans(t *testing.T) (plans []Plan) {
	t.Helper()
	content, err := os.ReadFile("testdata/plans")
	if err != nil {
		t.Fatal(err)
	}
	if text := os.Getenv("MIZAN_PLAN"); text != "" {
		content = []byte(text)
	}
	for text := range strings.Lines(string(content)) {
		text = strings.TrimSpace(text)
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		var p Plan
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		plans = append(plans, p)
	}
	return plans
}

func TestShrinkingLeavesWhatFails(t *testing.T) {
	plan := NewPlan(7)
	plan.Faults = Faults{SyncFails: true, LostCalls: true, Leaps: true, Misdirects: true, Overflows: true}
	for len(plan.Rounds) < 6 {
		plan.Rounds = append(plan.Rounds, plan.Rounds[0])
	}
	culprit := plan.Rounds[3].Seed
	got := Shrink(plan, func(p Plan) bool { // the fault needs one round with ten steps, and lost calls
		return p.Faults.LostCalls && slices.ContainsFunc(p.Rounds, func(r Round) bool { return r.Seed == culprit && r.Steps >= 10 })
	})
	if len(got.Rounds) != 1 || got.Rounds[0].Seed != culprit || got.Rounds[0].Steps < 10 || got.Rounds[0].Steps >= 20 || got.Faults != (Faults{LostCalls: true}) {
		t.Errorf("shrunk to %v", got)
	}
}

func TestKindsOfViolationsDoNotDependOnIDs(t *testing.T) {
	a := "order-7, 0b9ae0f6-53d6-4b5a-8a8c-8b7f2b3d0c11: the provider has the money"
	b := "order-12, 77e2a3c4-1111-4b5a-8a8c-8b7f2b3d0c11: the provider has the money"
	if Kind(a) != Kind(b) || Kind(a) == Kind("order-7, it was never told") {
		t.Errorf("%q, %q", Kind(a), Kind(b))
	}
}

// A power cut loses only writes that were not synced, and loses all of them if the outage says so.
func TestPowerCutTakesBackWhatWasNotSynced(t *testing.T) {
	root, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	w := newWorld(Plan{Seed: 1}, root, nil)
	d := newMachineDisk(w, w.scheduler, root, "", unsyncedChanges{})
	if err := os.Mkdir(filepath.Join(root, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	dir := d.open(filepath.Join(root, "log"))
	f, err := dir.Create("a", 4*sectorSize)
	must(t, err)
	must(t, dir.Sync())
	_, err = f.WriteAt([]byte(strings.Repeat("1", 3*sectorSize)), 0)
	must(t, err)
	must(t, f.Datasync())
	_, err = f.WriteAt([]byte(strings.Repeat("2", 2*sectorSize)), sectorSize/2)
	must(t, err)
	_, err = f.WriteAt([]byte(strings.Repeat("3", 2*sectorSize)), 3*sectorSize)
	must(t, err)
	must(t, dir.Rename("a", "b"))
	for _, c := range []struct {
		lose float64
		want string
	}{
		{1, strings.Repeat("1", 3*sectorSize) + strings.Repeat("\x00", sectorSize)},
		{0, strings.Repeat("1", sectorSize/2) + strings.Repeat("2", 2*sectorSize) + strings.Repeat("1", sectorSize/2) + strings.Repeat("3", 2*sectorSize)},
	} {
		must(t, os.RemoveAll(copied))
		must(t, copyFiles(root, copied))
		_, err := d.cutPower(copied, rand.New(rand.NewPCG(1, 1)), outage{lose: c.lose})
		must(t, err)
		content, err := os.ReadFile(filepath.Join(copied, "log", "a"))
		if err != nil {
			content, err = os.ReadFile(filepath.Join(copied, "log", "b"))
		}
		must(t, err)
		if string(content) != c.want {
			t.Errorf("of lost %v: %d bytes %.40q", c.lose, len(content), content)
		}
	}
	must(t, f.Close())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
