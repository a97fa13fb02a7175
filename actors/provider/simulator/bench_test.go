package simulator

import (
	"sync/atomic"
	"testing"

	"mizan/actors"
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

// openWithLongLog returns a simulator with a log of about 100 MB; every thousandth charge is charged back.
func openWithLongLog(b *testing.B) *testSimulator {
	sim := open(b)
	call := cardCall(0, actors.Pay, "")
	for n := uint64(0); sim.log.size < 100_000_000; n++ {
		call.Reference = id(n)
		call.Card.Number = []byte("4242424242424242")
		if n%1000 == 0 {
			call.Card.Number = []byte(chargebackCard)
		}
		sim.submit(call)
	}
	return sim
}

// BenchmarkOpen measures a start with a log of 100 MB.
func BenchmarkOpen(b *testing.B) {
	sim := openWithLongLog(b)
	b.SetBytes(sim.log.size)
	for b.Loop() {
		sim.reopen()
	}
}

// BenchmarkSearch measures an inquiry about the first call of a log of 100 MB.
func BenchmarkSearch(b *testing.B) {
	sim := openWithLongLog(b)
	sim.forget()
	b.SetBytes(sim.log.size)
	for b.Loop() {
		if sim.inquire(0).Verdict != payment.VerdictCharged {
			b.Fatal("not found")
		}
	}
}
