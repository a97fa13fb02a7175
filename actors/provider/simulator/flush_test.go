package simulator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/ledger/payment"
)

// volatileFile is a file that loses its unsynced bytes in a power cut.
type volatileFile struct {
	*os.File
	mu          sync.Mutex
	durableSize int64 // bytes that a power cut leaves
	syncCount   int
	syncBegun   chan struct{} // if set, each sync first sends to syncBegun
	syncMayEnd  chan struct{} // if syncBegun is set, each sync then receives from syncMayEnd
	failsSync   atomic.Bool
}

func (disk *volatileFile) Sync() error {
	info, err := disk.Stat()
	if err != nil {
		return err
	}
	if disk.syncBegun != nil {
		disk.syncBegun <- struct{}{}
		<-disk.syncMayEnd
	}
	if disk.failsSync.Load() {
		return errors.New("input/output error")
	}
	disk.mu.Lock()
	defer disk.mu.Unlock()
	disk.syncCount++
	disk.durableSize = max(disk.durableSize, info.Size())
	return nil
}

func openVolatile(t *testing.T) (*testSimulator, *volatileFile) {
	sim := open(t)
	disk := &volatileFile{File: sim.log.file.(logFile).File}
	sim.log.file = disk
	return sim, disk
}

func TestCallReturnsOnlyAfterItsLineIsDurable(t *testing.T) {
	sim, disk := openVolatile(t)
	sim.submit(cardCall(1, actors.Pay, redirectCard))
	sim.submit(cardCall(2, actors.Pay, chargebackCard))
	disk.syncBegun, disk.syncMayEnd = make(chan struct{}), make(chan struct{})
	for what, answer := range map[string]func(){
		"charge":   func() { sim.submit(cardCall(3, actors.Pay, "4242424242424242")) },
		"refund":   func() { sim.submit(followUpCall(2, actors.Refund, 7, 10)) },
		"decision": func() { sim.decideOnPage(true) },
	} {
		answered := make(chan struct{})
		go func() { answer(); close(answered) }()
		<-disk.syncBegun
		for range 1000 {
			runtime.Gosched()
		}
		select {
		case <-answered:
			t.Errorf("%s: answered while the sync was under way", what)
		default:
		}
		disk.syncMayEnd <- struct{}{}
		<-answered
	}
}

// The result of an inquiry about a line that another call has just written is returned only after the
// line is durable.
func TestInquiryReturnsOnlyAfterItsLinesAreDurable(t *testing.T) {
	sim, disk := openVolatile(t)
	disk.syncBegun, disk.syncMayEnd = make(chan struct{}), make(chan struct{})
	submitted, acknowledged := make(chan struct{}), make(chan struct{})
	go func() { sim.submit(cardCall(1, actors.Pay, "4242424242424242")); close(submitted) }()
	<-disk.syncBegun
	go func() { sim.inquire(1); close(acknowledged) }()
	for range 1000 {
		runtime.Gosched()
	}
	select {
	case <-acknowledged:
		t.Error("an inquiry was answered while the sync was under way")
	default:
	}
	disk.syncMayEnd <- struct{}{}
	<-submitted
	<-acknowledged
}

func TestCallsInFlightShareOneSync(t *testing.T) {
	sim, disk := openVolatile(t)
	disk.syncBegun, disk.syncMayEnd = make(chan struct{}), make(chan struct{})
	const calls = 50
	var running sync.WaitGroup
	submit := func(n uint64) {
		running.Go(func() {
			sim.expect(fmt.Sprint("call ", n), sim.submit(cardCall(n, actors.Pay, "4242424242424242")), chargedOutcome(n))
		})
	}
	submit(0)
	<-disk.syncBegun
	for n := range uint64(calls) {
		submit(n + 1)
	}
	for written := 0; written < calls+1; {
		sim.mu.Lock()
		written = len(sim.index.lines)
		sim.mu.Unlock()
		runtime.Gosched()
	}
	disk.syncMayEnd <- struct{}{}
	<-disk.syncBegun
	disk.syncMayEnd <- struct{}{}
	running.Wait()
	if disk.syncCount != 2 {
		t.Errorf("%d syncs for one call and %d at once after it, want 2", disk.syncCount, calls)
	}
}

// After a failed sync the kernel considers the data written, so the next sync would report no error.
func TestNothingIsSyncedAfterAFailedSync(t *testing.T) {
	sim, disk := openVolatile(t)
	alarmCount := 0
	sim.onSyncFailure = func(err error) {
		if alarmCount++; err == nil {
			t.Error("an alarm without a reason")
		}
	}
	defer func() {
		if alarmCount != 1 {
			t.Errorf("%d alarms of one failed sync", alarmCount)
		}
	}()
	sim.expect("before", sim.submit(cardCall(1, actors.Pay, "4242424242424242")), chargedOutcome(1))
	disk.failsSync.Store(true)
	sim.expect("during", sim.submit(cardCall(2, actors.Pay, "4242424242424242")), unknownOutcome)
	sim.expect("inquiry about it", sim.inquire(2), unknownOutcome)
	disk.failsSync.Store(false)
	sim.expect("after", sim.submit(cardCall(3, actors.Pay, "4242424242424242")), unwritableOutcome)
	sim.expect("inquiry about the first", sim.inquire(1), chargedOutcome(1))
	sim.reopen()
	sim.expect("the first, later", sim.inquire(1), chargedOutcome(1))
	sim.expect("the second, later", sim.inquire(2), notFoundOutcome)
	sim.expect("the next", sim.submit(cardCall(4, actors.Pay, "4242424242424242")), chargedOutcome(4))
}

// After a power cut at any moment, the log still has every call whose outcome was returned.
func TestPowerCutLosesNoReturnedOutcome(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range 20 {
		sim, disk := openVolatile(t)
		var (
			mu            sync.Mutex
			answeredCalls []uint64
			powerCut      atomic.Bool
			running       sync.WaitGroup
		)
		for worker := range uint64(4) {
			running.Go(func() {
				for n := worker << 32; !powerCut.Load(); n++ {
					sim.submit(cardCall(n, actors.Pay, "4242424242424242"))
					mu.Lock()
					answeredCalls = append(answeredCalls, n)
					mu.Unlock()
				}
			})
		}
		for wanted := random.IntN(200) + 20; ; runtime.Gosched() {
			mu.Lock()
			enough := len(answeredCalls) >= wanted
			mu.Unlock()
			if enough {
				break
			}
		}
		// The content of the disk at this moment, and the calls whose outcomes were returned by then.
		mu.Lock()
		callsBeforeCut := append([]uint64(nil), answeredCalls...)
		disk.mu.Lock()
		content := sim.content()[:disk.durableSize]
		disk.mu.Unlock()
		mu.Unlock()
		powerCut.Store(true)
		running.Wait()
		restarted := &testSimulator{t: t, path: filepath.Join(t.TempDir(), "simulator.log"), clock: clock.NewManual(start)}
		if err := os.WriteFile(restarted.path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		restarted.open()
		for _, n := range callsBeforeCut {
			if got := restarted.inquire(n).Verdict; got != payment.VerdictCharged {
				t.Fatalf("round %d: call %d was answered, and is %v after the power cut", round, n, got)
			}
		}
		if err := restarted.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
