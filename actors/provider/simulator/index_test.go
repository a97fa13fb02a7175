package simulator

import (
	"testing"

	"mizan/actors"
)

// forget empties the index, as if the calls had been pushed out of it.
func (b *bench) forget() {
	clear(b.index.lines)
	b.index.oldest = b.index.oldest[:0]
	b.index.next = 0
}

func TestTheIndexHoldsTheLastOnesOnly(t *testing.T) {
	x := newIndex(3)
	for n := range uint64(10) {
		x.add(n<<32|n, int64(n))
		if len(x.lines) > 3 || len(x.oldest) > 3 {
			t.Fatalf("after %d the index holds %d and %d", n, len(x.lines), len(x.oldest))
		}
		for m := range n + 1 {
			offset, found := x.find(m<<32 | m)
			if found != (m+3 > n) || (found && offset != int64(m)) {
				t.Fatalf("after %d: %d is found %v at %d", n, m, found, offset)
			}
			if !x.seen(m<<32 | m) {
				t.Fatalf("after %d: %d was never seen", n, m)
			}
		}
	}
	x.add(9<<32|9, 77)
	if offset, _ := x.find(9<<32 | 9); offset != 9 {
		t.Errorf("a second line took the first one's place: %d", offset)
	}
}

func TestTheSieveTellsMostUnknownCallsApart(t *testing.T) {
	x := newIndex(16)
	key := func(n uint64) uint64 { u := id(n); return x.hash(u[:]) }
	const calls = 200_000
	for n := range uint64(calls) {
		x.add(key(n), 0)
	}
	wrong := 0
	for n := range uint64(calls) {
		if !x.seen(key(n)) {
			t.Fatalf("call %d was never seen", n)
		}
		if x.seen(key(calls + n)) {
			wrong++
		}
	}
	if wrong > calls/1000 {
		t.Errorf("%d of %d unknown calls look known", wrong, calls)
	}
}

func TestACallThatNeverArrivedCostsNoSearch(t *testing.T) {
	b, f := openFaulty(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	f.noRead = true
	b.expect("inquiry", b.inquire(2), actors.Outcome{Verdict: actors.VerdictNotFound})
}

func TestCallsThatTheIndexLostAreFoundInTheLog(t *testing.T) {
	b := open(t)
	b.index.bound = 4
	b.tape.chunk = 1000 // four lines and a part of one
	const calls = 100
	for n := range uint64(calls) {
		b.submit(cardCall(n, actors.Pay, "4242424242424242"))
		if len(b.index.lines) > 4 {
			t.Fatalf("the index holds %d", len(b.index.lines))
		}
	}
	for n := range uint64(calls) {
		b.expect("inquiry", b.inquire(n), charge(n))
	}
	b.expect("unknown", b.inquire(calls), actors.Outcome{Verdict: actors.VerdictNotFound})
	for i := range b.index.sieve { // as with very many calls: it lets all through
		b.index.sieve[i] = ^uint64(0)
	}
	b.expect("unknown, past a full sieve", b.inquire(calls), actors.Outcome{Verdict: actors.VerdictNotFound})
}

func TestTwoCallsWithOneHashAreToldApart(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	b.submit(cardCall(2, actors.Pay, "4000000000000002"))
	hash := func(n uint64) uint64 { return b.index.hash(appendKey(nil, id(7), id(n))) }
	b.index.lines[hash(2)] = b.index.lines[hash(1)]
	b.index.lines[hash(3)] = b.index.lines[hash(1)]
	b.expect("inquiry", b.inquire(2), actors.Outcome{Verdict: actors.VerdictRefused, Reason: "card_declined"})
	b.expect("a new call", b.submit(cardCall(3, actors.Pay, "4000000000009995")), actors.Outcome{Verdict: actors.VerdictRefused, Reason: "insufficient_funds"})
	b.expect("inquiry about it", b.inquire(3), actors.Outcome{Verdict: actors.VerdictRefused, Reason: "insufficient_funds"})
}
