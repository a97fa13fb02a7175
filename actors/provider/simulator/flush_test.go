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

// volatile is a file that loses its unsynced bytes in a power cut.
type volatile struct {
	*os.File
	mu      sync.Mutex
	durable int64 // bytes that a power cut leaves
	syncs   int
	begun   chan struct{} // if set, each sync first sends to begun
	gate    chan struct{} // if begun is set, each sync then waits for gate
	broken  atomic.Bool
}

func (v *volatile) Sync() error {
	info, err := v.Stat()
	if err != nil {
		return err
	}
	if v.begun != nil {
		v.begun <- struct{}{}
		<-v.gate
	}
	if v.broken.Load() {
		return errors.New("input/output error")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.syncs++
	v.durable = max(v.durable, info.Size())
	return nil
}

func openVolatile(t *testing.T) (*bench, *volatile) {
	b := open(t)
	v := &volatile{File: b.log.file.(logFile).File}
	b.log.file = v
	return b, v
}

func TestCallReturnsOnlyAfterItsLineIsDurable(t *testing.T) {
	b, v := openVolatile(t)
	b.submit(cardCall(1, actors.Pay, redirectCard))
	b.submit(cardCall(2, actors.Pay, chargebackCard))
	v.begun, v.gate = make(chan struct{}), make(chan struct{})
	for what, answer := range map[string]func(){
		"charge":   func() { b.submit(cardCall(3, actors.Pay, "4242424242424242")) },
		"refund":   func() { b.submit(followUpCall(2, actors.Refund, 7, 10)) },
		"decision": func() { b.decideOn(true) },
	} {
		answered := make(chan struct{})
		go func() { answer(); close(answered) }()
		<-v.begun
		for range 1000 {
			runtime.Gosched()
		}
		select {
		case <-answered:
			t.Errorf("%s: answered while the sync was under way", what)
		default:
		}
		v.gate <- struct{}{}
		<-answered
	}
}

// The result of an inquiry about a line that another call has just written is returned only after the
// line is durable.
func TestInquiryReturnsOnlyAfterItsLinesAreDurable(t *testing.T) {
	b, v := openVolatile(t)
	v.begun, v.gate = make(chan struct{}), make(chan struct{})
	submitted, acknowledged := make(chan struct{}), make(chan struct{})
	go func() { b.submit(cardCall(1, actors.Pay, "4242424242424242")); close(submitted) }()
	<-v.begun
	go func() { b.inquire(1); close(acknowledged) }()
	for range 1000 {
		runtime.Gosched()
	}
	select {
	case <-acknowledged:
		t.Error("an inquiry was answered while the sync was under way")
	default:
	}
	v.gate <- struct{}{}
	<-submitted
	<-acknowledged
}

func TestCallsInFlightShareOneSync(t *testing.T) {
	b, v := openVolatile(t)
	v.begun, v.gate = make(chan struct{}), make(chan struct{})
	const calls = 50
	var running sync.WaitGroup
	submit := func(n uint64) {
		running.Go(func() {
			b.expect(fmt.Sprint("call ", n), b.submit(cardCall(n, actors.Pay, "4242424242424242")), chargedOutcome(n))
		})
	}
	submit(0)
	<-v.begun
	for n := range uint64(calls) {
		submit(n + 1)
	}
	for written := 0; written < calls+1; {
		b.mu.Lock()
		written = len(b.index.lines)
		b.mu.Unlock()
		runtime.Gosched()
	}
	v.gate <- struct{}{}
	<-v.begun
	v.gate <- struct{}{}
	running.Wait()
	if v.syncs != 2 {
		t.Errorf("%d syncs for one call and %d at once after it, want 2", v.syncs, calls)
	}
}

// After a failed sync the kernel considers the data written, so the next sync would report no error.
func TestNothingIsSyncedAfterAFailedSync(t *testing.T) {
	b, v := openVolatile(t)
	alarms := 0
	b.failed = func(err error) {
		if alarms++; err == nil {
			t.Error("an alarm without a reason")
		}
	}
	defer func() {
		if alarms != 1 {
			t.Errorf("%d alarms of one failed sync", alarms)
		}
	}()
	b.expect("before", b.submit(cardCall(1, actors.Pay, "4242424242424242")), chargedOutcome(1))
	v.broken.Store(true)
	b.expect("during", b.submit(cardCall(2, actors.Pay, "4242424242424242")), isUnknown)
	b.expect("inquiry about it", b.inquire(2), isUnknown)
	v.broken.Store(false)
	b.expect("after", b.submit(cardCall(3, actors.Pay, "4242424242424242")), unwritable)
	b.expect("inquiry about the first", b.inquire(1), chargedOutcome(1))
	b.reopen()
	b.expect("the first, later", b.inquire(1), chargedOutcome(1))
	b.expect("the second, later", b.inquire(2), notFound)
	b.expect("the next", b.submit(cardCall(4, actors.Pay, "4242424242424242")), chargedOutcome(4))
}

// A power cut at any moment leaves every call in the log whose outcome was returned.
func TestPowerCutLosesNoReturnedOutcome(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for round := range 20 {
		b, v := openVolatile(t)
		var (
			mu                sync.Mutex
			acknowledgedCalls []uint64
			powerCut          atomic.Bool
			running           sync.WaitGroup
		)
		for w := range uint64(4) {
			running.Go(func() {
				for n := w << 32; !powerCut.Load(); n++ {
					b.submit(cardCall(n, actors.Pay, "4242424242424242"))
					mu.Lock()
					acknowledgedCalls = append(acknowledgedCalls, n)
					mu.Unlock()
				}
			})
		}
		for wanted := random.IntN(200) + 20; ; runtime.Gosched() {
			mu.Lock()
			enough := len(acknowledgedCalls) >= wanted
			mu.Unlock()
			if enough {
				break
			}
		}
		// The content of the disk at this moment, and the calls whose outcomes were returned by then.
		mu.Lock()
		acknowledged := append([]uint64(nil), acknowledgedCalls...)
		v.mu.Lock()
		content := b.content()[:v.durable]
		v.mu.Unlock()
		mu.Unlock()
		powerCut.Store(true)
		running.Wait()
		after := &bench{t: t, path: filepath.Join(t.TempDir(), "simulator.log"), clock: clock.NewManual(start)}
		if err := os.WriteFile(after.path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		after.open()
		for _, n := range acknowledged {
			if got := after.inquire(n).Verdict; got != payment.VerdictCharged {
				t.Fatalf("round %d: call %d was answered, and is %v after the power cut", round, n, got)
			}
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
