package simulator

import (
	"sync/atomic"
	"testing"

	"mizan/actors"
	"mizan/ledger/payment"
)

func TestSubmitAllocatesNothingButTheRetrievalNumberAndTheToken(t *testing.T) {
	b := open(t)
	call := cardCall(0, actors.Pay, "4242424242424242")
	n := uint64(0)
	next := func() {
		n++
		call.Reference = id(n)
		b.submit(call)
	}
	for range 5000 { // so that the maps do not grow any more
		next()
	}
	if got := testing.AllocsPerRun(1000, next); got > 2 {
		t.Errorf("%v allocations a call", got)
	}
}

// BenchmarkSubmit measures the hot path: parallel callers, one line each.
func BenchmarkSubmit(b *testing.B) {
	s := open(b)
	var n atomic.Uint64
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		call := cardCall(0, actors.Pay, "4242424242424242")
		for p.Next() {
			call.Reference = id(n.Add(1))
			s.submit(call)
		}
	})
}

// filled returns a simulator with a log of about 100 MB; every thousandth call is charged back.
func filled(b *testing.B) *bench {
	s := open(b)
	call := cardCall(0, actors.Pay, "")
	for n := uint64(0); s.log.size < 100_000_000; n++ {
		call.Reference = id(n)
		call.Card.Number = []byte("4242424242424242")
		if n%1000 == 0 {
			call.Card.Number = []byte(chargebackCard)
		}
		s.submit(call)
	}
	return s
}

// BenchmarkOpen measures a start with a log of 100 MB.
func BenchmarkOpen(b *testing.B) {
	s := filled(b)
	b.SetBytes(s.log.size)
	for b.Loop() {
		s.reopen()
	}
}

// BenchmarkSearch measures an inquiry about the first call of a log of 100 MB.
func BenchmarkSearch(b *testing.B) {
	s := filled(b)
	s.forget()
	b.SetBytes(s.log.size)
	for b.Loop() {
		if s.inquire(0).Verdict != payment.VerdictCharged {
			b.Fatal("not found")
		}
	}
}
