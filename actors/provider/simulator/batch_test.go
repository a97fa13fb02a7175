package simulator

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/testseed"
	"mizan/ledger/payment"
)

// notAnswered lets other goroutines run, and fails if one has closed answered meanwhile.
func notAnswered(t *testing.T, what string, answered <-chan struct{}) {
	t.Helper()
	for range 1000 {
		runtime.Gosched()
	}
	select {
	case <-answered:
		t.Errorf("%s: answered while the sync was under way", what)
	default:
	}
}

// inBackground runs fn on another goroutine, and closes the channel when fn has returned.
func inBackground(fn func()) <-chan struct{} {
	ended := make(chan struct{})
	go func() { defer close(ended); fn() }()
	return ended
}

// waitForLines waits until the given number of lines are written in memory but not durable.
func (sim *testSimulator) waitForLines(count int) {
	for pending := -1; pending != count; runtime.Gosched() {
		pending = 0
		sim.mu.Lock()
		for _, b := range []*batch{sim.log.writing, sim.log.collecting} {
			if b != nil {
				pending += len(b.lines)
			}
		}
		sim.mu.Unlock()
	}
}

func TestCallReturnsOnlyAfterItsLineIsDurable(t *testing.T) {
	sim, disk := openVolatile(t)
	sim.submit(cardCall(1, actors.Pay, redirectCard))
	sim.submit(cardCall(2, actors.Pay, chargebackCard))
	disk.gate()
	for what, answer := range map[string]func(){
		"charge":   func() { sim.submit(cardCall(3, actors.Pay, "4242424242424242")) },
		"refund":   func() { sim.submit(followUpCall(2, actors.Refund, 7, 10)) },
		"decision": func() { sim.decideOnPage(true) },
	} {
		answered := inBackground(answer)
		<-disk.syncBegun
		notAnswered(t, what, answered)
		disk.syncMayEnd <- struct{}{}
		<-answered
	}
}

// A call's result may depend on a charge's line that another call is writing or has not written yet. The
// result is returned only after that line is durable.
func TestPendingLinesAreReadAndWaitedFor(t *testing.T) {
	for _, isWriting := range []bool{true, false} {
		for what, ask := range map[string]func(sim *testSimulator){
			"inquiry": func(sim *testSimulator) { sim.expect("inquiry", sim.inquire(1), heldOutcome(1)) },
			"capture": func(sim *testSimulator) {
				sim.expect("capture", sim.submit(followUpCall(1, actors.Capture, 2, 400)), chargedOutcome(1))
			},
			"repeat": func(sim *testSimulator) {
				sim.expect("repeat", sim.submit(cardCall(1, actors.Pay, "4000000000000002")), heldOutcome(1))
			},
			"another call's outcome": func(sim *testSimulator) {
				sim.expect("inquiry", sim.inquireAbout(1, actors.Refund, 9), notSettledOutcome)
			},
			"a call that was not made": func(sim *testSimulator) {
				sim.expect("inquiry", sim.inquireAbout(1, actors.Void, 10), notFoundOutcome)
			},
		} {
			t.Run(fmt.Sprint(what, ", the line is being written: ", isWriting), func(t *testing.T) {
				sim, disk := openVolatile(t)
				disk.gate()
				other := inBackground(func() {
					if !isWriting {
						sim.submit(cardCall(5, actors.Pay, "4242424242424242"))
					}
				})
				written := 0
				if !isWriting {
					<-disk.syncBegun
					written = 1
				}
				submitted := inBackground(func() {
					sim.expect("hold", sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242"))), heldOutcome(1))
				})
				if isWriting {
					<-disk.syncBegun
				}
				sim.waitForLines(written + 1)
				refunded := inBackground(func() { sim.submit(followUpCall(1, actors.Refund, 9, 10)) })
				sim.waitForLines(written + 2)
				asked := inBackground(func() { ask(sim) })
				notAnswered(t, what, asked)
				for range 3 { // at most three syncs: of the other call's batch, of the charge's batch, and one more
					select {
					case disk.syncMayEnd <- struct{}{}:
						select {
						case <-disk.syncBegun:
						case <-asked:
						}
					case <-asked:
					}
				}
				<-asked
				<-submitted
				<-refunded
				<-other
			})
		}
	}
}

func TestCallsInFlightShareOneWriteAndOneSync(t *testing.T) {
	sim, disk := openVolatile(t)
	disk.gate()
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
	sim.waitForLines(calls + 1)
	disk.syncMayEnd <- struct{}{}
	<-disk.syncBegun
	disk.syncMayEnd <- struct{}{}
	running.Wait()
	if disk.syncCount != 2 || disk.writeCount != 2 {
		t.Errorf("%d syncs and %d writes for one call and %d at once after it, want 2 each", disk.syncCount, disk.writeCount, calls)
	}
	batchBegin := int64(0)
	for i, line := range sim.lines() {
		if i <= 2 {
			batchBegin = line.offset
		}
		if line.offset-int64(line.inBatch) != batchBegin {
			t.Errorf("line %d at %d says that its batch begins at %d, want %d", i+1, line.offset, line.offset-int64(line.inBatch), batchBegin)
		}
	}
}

// lines returns the parsed lines of the file.
func (sim *testSimulator) lines() (list []*record) {
	sim.t.Helper()
	offset := int64(0)
	for text := range strings.Lines(string(sim.content())) {
		line, err := parseLine([]byte(text), offset)
		if err != nil {
			sim.t.Fatalf("%s: %v", text, err)
		}
		list = append(list, line)
		offset += int64(len(text))
	}
	return list
}

// submitDuringSync makes a call, and further calls while the first one's sync is under way. Then the sync ends.
func submitDuringSync(sim *testSimulator, disk *volatileFile, first func(), later ...func()) {
	disk.gate()
	var running sync.WaitGroup
	running.Go(first)
	<-disk.syncBegun
	for i, call := range later {
		running.Go(call)
		sim.waitForLines(i + 2)
	}
	begun, mayEnd := disk.syncBegun, disk.syncMayEnd
	ended := inBackground(running.Wait)
	for {
		select {
		case mayEnd <- struct{}{}:
		case <-begun:
		case <-ended:
			disk.syncBegun, disk.syncMayEnd = nil, nil
			return
		}
	}
}

// After a failed sync the kernel takes the data for written, so the next sync would report no error
// although the data is lost.
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
	disk.failsSync = true
	submitDuringSync(sim, disk,
		func() {
			sim.expect("during", sim.submit(cardCall(2, actors.Pay, "4242424242424242")), unknownOutcome)
		},
		func() {
			sim.expect("collected", sim.submit(cardCall(5, actors.Pay, "4242424242424242")), unknownOutcome)
		},
		func() {
			sim.expect("refund", sim.submit(followUpCall(2, actors.Refund, 6, 1)), unknownOutcome)
		},
	)
	if disk.syncCount != 1 {
		t.Errorf("%d syncs succeeded, want the one before the failure", disk.syncCount)
	}
	sim.expect("inquiry about it", sim.inquire(2), notFoundOutcome)
	disk.failsSync = false
	sim.expect("after", sim.submit(cardCall(3, actors.Pay, "4242424242424242")), unwritableOutcome)
	sim.expect("inquiry about the first", sim.inquire(1), chargedOutcome(1))
	sim.reopen()
	sim.expect("the first, later", sim.inquire(1), chargedOutcome(1))
	for _, n := range []uint64{2, 3, 5} {
		sim.expect("a call that failed, later", sim.inquire(n), notFoundOutcome)
	}
	sim.expect("the next", sim.submit(cardCall(4, actors.Pay, "4242424242424242")), chargedOutcome(4))
}

// A batch is not written, because the disk is full or the write fails. Its calls never happened, and neither did the calls
// that were collected meanwhile, some of which continue charges of the batch. An inquiry finds none of these calls.
func TestCallsOfABatchThatIsNotWrittenNeverHappened(t *testing.T) {
	for what, fail := range map[string]func(sim *testSimulator, disk *volatileFile, fails bool){
		"no padding": func(sim *testSimulator, disk *volatileFile, fails bool) {
			disk.failsPadding, sim.log.paddedTo = fails, sim.log.durable
			if fails {
				sim.log.paddedTo += 500 // the padding ends behind the line that is being written
			}
		},
		"a failed write": func(_ *testSimulator, disk *volatileFile, fails bool) { disk.failsWrite = fails },
	} {
		t.Run(what, func(t *testing.T) {
			sim, disk := openVolatile(t)
			sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
			submitDuringSync(sim, disk,
				func() {
					sim.expect("before", sim.submit(cardCall(2, actors.Pay, "4242424242424242")), chargedOutcome(2))
				},
				func() {
					sim.expect("hold", sim.submit(heldCall(cardCall(3, actors.Pay, "4242424242424242"))), unwritableOutcome)
				},
				func() {
					sim.expect("capture", sim.submit(followUpCall(3, actors.Capture, 7, 400)), unwritableOutcome)
				},
				func() {
					sim.expect("chargeback", sim.submit(cardCall(4, actors.Pay, chargebackCard)), unwritableOutcome)
				},
				func() {
					fail(sim, disk, true)
					sim.expect("repeat", sim.submit(cardCall(1, actors.Pay, "4242424242424242")), unknownOutcome)
				},
			)
			fail(sim, disk, false)
			before := sim.content()
			random := testseed.Random(t)
			for range 20 {
				disk.mu.Lock()
				content := disk.afterPowerCut(random)
				disk.mu.Unlock()
				if !bytes.Equal(bytes.TrimRight(content, "\x00"), before) {
					t.Fatal("a power cut brings back a call that was not sent")
				}
			}
			for _, n := range []uint64{3, 4} {
				sim.expect("inquiry", sim.inquire(n), notFoundOutcome)
			}
			sim.expect("inquiry about the capture", sim.inquireAbout(3, actors.Capture, 7), notFoundOutcome)
			if len(sim.lines()) != 3 {
				t.Errorf("the log is %s", before)
			}
			sim.expect("hold again", sim.submit(heldCall(cardCall(3, actors.Pay, "4242424242424242"))), heldOutcome(3))
			sim.expect("capture again", sim.submit(followUpCall(3, actors.Capture, 7, 400)), chargedOutcome(3))
			sim.advance(time.Hour)
			if list, err := sim.Reports(t.Context(), time.Time{}, sim.clock.Now()); err != nil || len(list) != 0 {
				t.Errorf("reports %v, %v", list, err)
			}
			sim.reopen()
			sim.expect("hold, later", sim.inquire(3), chargedOutcome(3))
			sim.expect("chargeback, later", sim.inquire(4), notFoundOutcome)
		})
	}
}

// If a write fails and the bytes that it left cannot be removed, a later start may find the lines.
func TestAFailedWriteThatCannotBeUndoneIsUnknown(t *testing.T) {
	sim, disk := openVolatile(t)
	disk.failsWrite, disk.failsSync = true, true
	sim.expect("call", sim.submit(cardCall(1, actors.Pay, "4242424242424242")), unknownOutcome)
	disk.failsWrite, disk.failsSync = false, false
	sim.expect("next call", sim.submit(cardCall(2, actors.Pay, "4242424242424242")), unwritableOutcome)
}

// A call has read the charge's newest line before that line turned out not to be written.
func TestNoLineContinuesADiscardedOne(t *testing.T) {
	for what, repeat := range map[string]*actors.Call{
		"capture": followUpCall(1, actors.Capture, 2, 400),
		"repeat":  heldCall(cardCall(1, actors.Pay, "4242424242424242")),
	} {
		sim, disk := openVolatile(t)
		disk.gate()
		held := inBackground(func() {
			sim.expect("hold", sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242"))), unknownOutcome)
		})
		<-disk.syncBegun
		key := appendKey(nil, id(7), id(1))
		newest, err := sim.newestLine(t.Context(), key, sim.index.hash(key))
		if err != nil || newest == nil || newest.batch == nil {
			t.Fatalf("%s: the pending line is %v, %v", what, newest, err)
		}
		disk.failsSync = true
		disk.syncMayEnd <- struct{}{}
		<-held
		sim.log.failure = nil // as after a failed write
		line := *newest
		line.before = newest.offset
		sim.lockForLine()
		_, err = sim.write(key, sim.index.hash(key), &line)
		sim.mu.Unlock()
		if err == nil {
			t.Errorf("%s: a line continues one that was not written: %v", what, repeat)
		}
		sim.log.failure = errNotWritten
	}
}

// While a batch is full, further calls wait; the batch never grows beyond its bound.
func TestABatchIsBounded(t *testing.T) {
	sim, disk := openVolatile(t)
	disk.gate()
	longURL := func() string { return "https://example.com/" + strings.Repeat("\x01", maxReturnURL-30) } // six bytes each in JSON
	const calls = 60
	answered := inBackground(func() {
		var running sync.WaitGroup
		for n := range uint64(calls) {
			running.Go(func() {
				call := cardCall(n, actors.Pay, redirectCard)
				call.ReturnURL = longURL
				if got := sim.submit(call).Verdict; got != payment.VerdictAction {
					t.Errorf("call %d: %v", n, got)
				}
			})
		}
		running.Wait()
	})
	<-disk.syncBegun
	for isFull := false; !isFull; runtime.Gosched() {
		sim.mu.Lock()
		for _, b := range []*batch{sim.log.writing, sim.log.collecting} { // even the first batch may have become full
			isFull = isFull || b != nil && len(b.text) > maxBatch-maxLine
		}
		sim.mu.Unlock()
	}
	notAnswered(t, "all calls", answered)
	for isAnswered := false; !isAnswered; {
		sim.mu.Lock()
		for _, b := range []*batch{sim.log.writing, sim.log.collecting} {
			if b != nil && len(b.text) > maxBatch {
				t.Errorf("a batch has %d bytes, want up to %d", len(b.text), maxBatch)
			}
		}
		sim.mu.Unlock()
		select {
		case disk.syncMayEnd <- struct{}{}:
		case <-disk.syncBegun:
		case <-answered:
			isAnswered = true
		}
	}
	if n := len(sim.lines()); n != calls+1 {
		t.Errorf("%d lines, want %d", n, calls+1)
	}
}

// A refund cancels a chargeback, and its line is not durable when the chargeback's time has come.
func TestReportsWaitForPendingLines(t *testing.T) {
	sim, disk := openVolatile(t)
	sim.submit(cardCall(1, actors.Pay, chargebackCard))
	disk.gate()
	refunded := inBackground(func() { sim.submit(followUpCall(1, actors.Refund, 2, 1000)) })
	<-disk.syncBegun
	sim.advance(time.Hour)
	reported := inBackground(func() {
		if list, err := sim.Reports(context.Background(), time.Time{}, sim.clock.Now()); err != nil || len(list) != 0 {
			t.Errorf("reports %v, %v of a charge that was refunded", list, err)
		}
	})
	notAnswered(t, "reports", reported)
	disk.syncMayEnd <- struct{}{}
	<-reported
	<-refunded
}

func TestCloseWaitsForPendingLines(t *testing.T) {
	sim, disk := openVolatile(t)
	disk.gate()
	submitted := inBackground(func() {
		sim.expect("call", sim.submit(cardCall(1, actors.Pay, "4242424242424242")), chargedOutcome(1))
	})
	<-disk.syncBegun
	collected := inBackground(func() {
		sim.expect("another", sim.submit(cardCall(2, actors.Pay, "4242424242424242")), chargedOutcome(2))
	})
	sim.waitForLines(2)
	closed := inBackground(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	notAnswered(t, "close", closed)
	disk.syncMayEnd <- struct{}{}
	<-disk.syncBegun
	disk.syncMayEnd <- struct{}{}
	<-submitted
	<-collected
	<-closed
	sim.expect("after", sim.submit(cardCall(3, actors.Pay, "4242424242424242")), unwritableOutcome)
	info, err := os.Stat(sim.path)
	if err != nil || info.Size() != int64(len(sim.content())) {
		t.Errorf("after Close the file has %d bytes, %v, and lines of %d", info.Size(), err, len(sim.content()))
	}
}

// A call is one write and one sync. Now and then padding (zero bytes after the lines) is written before
// the call's line; its length is bounded.
func TestPaddingIsWrittenAhead(t *testing.T) {
	sim, disk := openVolatile(t)
	lastSize, growths := int64(0), 0
	const calls = 6000
	for n := range uint64(calls) {
		sim.submit(cardCall(n, actors.Pay, "4242424242424242"))
		info, err := os.Stat(sim.path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() != lastSize {
			lastSize = info.Size()
			growths++
		}
		if padding := info.Size() - sim.log.durable; padding < 0 || padding > maxPadding || info.Size()%paddingUnit != 0 {
			t.Fatalf("after %d calls there are %d bytes of padding", n, padding)
		}
	}
	if growths < 4 || growths > 12 || disk.syncCount != calls || disk.writeCount != calls {
		t.Errorf("%d calls: the file grew %d times; %d syncs, %d writes of lines", calls, growths, disk.syncCount, disk.writeCount)
	}
}
