package simulator

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"mizan/actors"
	"mizan/internal/clock"
	"mizan/ledger/payment"
)

func TestSubmitAllocatesNothingButTheRetrievalNumberAndTheToken(t *testing.T) {
	sim := open(t)
	call := cardCall(0, actors.Pay, "4242424242424242")
	n := uint64(0)
	next := func() {
		n++
		call.Reference = id(n)
		sim.submit(call)
	}
	for range 5000 { // so that the maps do not grow any more
		next()
	}
	if got := testing.AllocsPerRun(1000, next); got > 2 {
		t.Errorf("%v allocations a call", got)
	}
}

// BenchmarkSubmit measures parallel callers; each call writes one line.
func BenchmarkSubmit(b *testing.B) {
	sim := open(b)
	var n atomic.Uint64
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		call := cardCall(0, actors.Pay, "4242424242424242")
		for p.Next() {
			call.Reference = id(n.Add(1))
			sim.submit(call)
		}
	})
}

// writeLongLog writes a log with the given number of payments.
func writeLongLog(b *testing.B, lineCount int) *testSimulator {
	b.Helper()
	sim := &testSimulator{t: b, path: filepath.Join(tempDirInMemory(b), "simulator.log"), clock: clock.NewManual(start)}
	sim.appendPayments(b, 0, uint64(lineCount))
	return sim
}

// appendPayments appends lines of payments to the log, which must be closed. Every thousandth payment is charged back.
func (sim *testSimulator) appendPayments(b *testing.B, first, end uint64) {
	b.Helper()
	f, err := os.OpenFile(sim.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var text []byte
	for n := first; n < end; n++ {
		number := "4242424242424242"
		if n%1000 == 0 {
			number = chargebackCard
		}
		call := cardCall(n, actors.Pay, number)
		openingDecision := decide(call, start)
		line := record{
			reference: call.Reference, terminal: call.Terminal.ID, org: call.Org,
			call:   callFields{operation: call.Operation.String(), outcome: openingDecision.verdict.String(), reason: openingDecision.reason},
			before: noLine,
		}
		line.charge.open(call, &openingDecision, start)
		text = appendLine(appendKey(text[:0], line.terminal, line.reference), &line)
		if _, err := w.Write(text); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOpen measures a start with a log of many lines: first without a checkpoint, then with the checkpoint that
// Close wrote, and then with as many further lines as a kill can leave after the last checkpoint.
func BenchmarkOpen(b *testing.B) {
	for _, lineCount := range []int{1_000_000, 5_000_000} {
		sim := writeLongLog(b, lineCount)
		for _, what := range []string{"whole", "closed", "killed"} {
			if what == "killed" {
				const longestLine = 300
				sim.appendPayments(b, uint64(lineCount), uint64(lineCount)+checkpointEvery/longestLine)
			}
			b.Run(fmt.Sprint(lineCount, "/", what), func(b *testing.B) {
				var used time.Duration
				for range b.N {
					b.StopTimer()
					if what == "whole" {
						_ = os.Remove(sim.path + CheckpointSuffix)
					}
					before := cpuTime(b)
					b.StartTimer()
					sim.open()
					b.StopTimer()
					used += cpuTime(b) - before
					if err := sim.Close(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(used.Seconds()*1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// BenchmarkSearch measures an inquiry about the first call of a log of a million lines.
func BenchmarkSearch(b *testing.B) {
	sim := writeLongLog(b, 1_000_000)
	sim.open()
	b.Cleanup(func() { _ = sim.Close() })
	sim.forget()
	b.SetBytes(sim.log.durable)
	for b.Loop() {
		if sim.inquire(0).Verdict != payment.VerdictCharged {
			b.Fatal("not found")
		}
	}
}
