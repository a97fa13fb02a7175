package simulator

import (
	"bytes"
	"context"
	"testing"

	"mizan/actors"
)

// forget empties the index, as if the calls had been pushed out of it.
func (b *bench) forget() {
	clear(b.index.lines)
	b.index.oldest = b.index.oldest[:0]
	b.index.next = 0
}

func TestIndexHoldsOnlyTheLastCharges(t *testing.T) {
	index := newIndex(3)
	for n := range uint64(10) {
		index.put(n<<32|n, int64(n))
		if len(index.lines) > 3 || len(index.oldest) > 3 {
			t.Fatalf("after %d the index holds %d and %d", n, len(index.lines), len(index.oldest))
		}
		for m := range n + 1 {
			offset, found := index.find(m<<32 | m)
			if found != (m+3 > n) || (found && offset != int64(m)) {
				t.Fatalf("after %d: %d is found %v at %d", n, m, found, offset)
			}
			if !index.mayKnow(m<<32 | m) {
				t.Fatalf("after %d: %d was never seen", n, m)
			}
		}
	}
	index.put(9<<32|9, 77)
	if offset, _ := index.find(9<<32 | 9); offset != 77 || len(index.oldest) != 3 {
		t.Errorf("a charge's second line did not take the first one's place: %d", offset)
	}
	index.put(10<<32|10, 10)
	if _, found := index.find(7<<32 | 7); found {
		t.Error("the oldest charge was not let go")
	}
}

func TestSieveRecognisesMostUnknownCharges(t *testing.T) {
	index := newIndex(16)
	key := func(n uint64) uint64 { u := id(n); return index.hash(u[:]) }
	const calls = 200_000
	for n := range uint64(calls) {
		index.put(key(n), 0)
	}
	falsePositives := 0
	for n := range uint64(calls) {
		if !index.mayKnow(key(n)) {
			t.Fatalf("call %d was never seen", n)
		}
		if index.mayKnow(key(calls + n)) {
			falsePositives++
		}
	}
	if falsePositives > calls/1000 {
		t.Errorf("%d of %d unknown calls look known", falsePositives, calls)
	}
}

func TestInquiryOfACallThatNeverArrivedNeedsNoSearch(t *testing.T) {
	b, f := openFaulty(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	f.noRead = true
	b.expect("inquiry", b.inquire(2), notFound)
}

func TestChargesDroppedFromTheIndexAreFoundInTheLog(t *testing.T) {
	b := open(t)
	b.index.bound = 4
	b.log.chunk = 1000 // four lines and part of another
	const calls = 100
	for n := range uint64(calls) {
		b.submit(cardCall(n, actors.Pay, "4242424242424242"))
		if len(b.index.lines) > 4 {
			t.Fatalf("the index holds %d", len(b.index.lines))
		}
	}
	for n := range uint64(calls) {
		b.expect("inquiry", b.inquire(n), chargedOutcome(n))
	}
	b.expect("unknown", b.inquire(calls), notFound)
	for i := range b.index.sieve { // so that the sieve rejects nothing, as after very many calls
		b.index.sieve[i] = ^uint64(0)
	}
	b.expect("unknown, although the sieve is full", b.inquire(calls), notFound)
}

func TestChargesWithEqualHashesAreDistinguished(t *testing.T) {
	b := open(t)
	b.submit(cardCall(1, actors.Pay, "4242424242424242"))
	b.submit(cardCall(2, actors.Pay, "4000000000000002"))
	hash := func(n uint64) uint64 { return b.index.hash(appendKey(nil, id(7), id(n))) }
	b.index.lines[hash(2)] = b.index.lines[hash(1)]
	b.index.lines[hash(3)] = b.index.lines[hash(1)]
	b.expect("inquiry", b.inquire(2), refusedOutcome("card_declined"))
	b.expect("a new call", b.submit(cardCall(3, actors.Pay, "4000000000009995")), refusedOutcome("insufficient_funds"))
	b.expect("inquiry about it", b.inquire(3), refusedOutcome("insufficient_funds"))
}

func TestOperationsTakeNoRoomInTheIndex(t *testing.T) {
	b := open(t)
	b.index.bound = 4
	for n := range uint64(8) {
		b.submit(cardCall(n, actors.Pay, "4242424242424242"))
		for request := range uint64(20) {
			b.submit(followUpCall(n, actors.Refund, request, 1))
			b.submit(followUpCall(1000+n, actors.Void, request, 0)) // of a charge that does not exist
		}
		if len(b.index.lines) > 4 || len(b.index.oldest) > 4 {
			t.Fatalf("the index holds %d and %d", len(b.index.lines), len(b.index.oldest))
		}
	}
	for n := range uint64(8) {
		b.expect("all but one unit", b.submit(followUpCall(n, actors.Refund, 100, 979)), isGranted)
		b.expect("two units", b.submit(followUpCall(n, actors.Refund, 101, 2)), refusedOutcome("amount_above_charge"))
		b.expect("the first refund again", b.submit(followUpCall(n, actors.Refund, 0, 1)), isGranted)
	}
}

func TestOldChargeContinuesFromItsNewestLine(t *testing.T) {
	for _, part := range []int64{600, 1000, 5000, chunk} {
		b := open(t)
		b.log.chunk = part
		b.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
		b.submit(cardCall(2, actors.Pay, "4242424242424242"))
		b.forget()
		b.expect("capture", b.submit(followUpCall(1, actors.Capture, 3, 500)), chargedOutcome(1))
		b.submit(cardCall(4, actors.Pay, "4242424242424242"))
		b.forget()
		b.expect("refund", b.submit(followUpCall(1, actors.Refund, 5, 500)), isGranted)
		b.forget()
		b.expect("one more", b.submit(followUpCall(1, actors.Refund, 6, 1)), refusedOutcome("amount_above_charge"))
		b.forget()
		b.expect("inquiry about the capture", b.inquireAbout(1, actors.Capture, 3), chargedOutcome(1))
	}
}

func TestASearchEndsWithItsContext(t *testing.T) {
	b := open(t)
	b.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
	b.forget()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	before := b.content()
	b.expect("capture", b.Submit(ended, followUpCall(1, actors.Capture, 2, 1000)), isUnknown)
	if !bytes.Equal(before, b.content()) {
		t.Errorf("logged %s", b.content()[len(before):])
	}
	b.expect("capture again", b.submit(followUpCall(1, actors.Capture, 2, 1000)), chargedOutcome(1))
}
