package simulator

import (
	"bytes"
	"context"
	"testing"

	"mizan/actors"
)

// forget empties the index, as if later calls had displaced all of its entries.
func (sim *testSimulator) forget() {
	sim.mu.Lock() // a checkpoint may still be being written in the background
	defer sim.mu.Unlock()
	clear(sim.index.positions)
	sim.index.ring = sim.index.ring[:0]
	sim.index.oldest = 0
}

func TestIndexHoldsOnlyTheLastCharges(t *testing.T) {
	index := newIndex(3, filterBits)
	for n := range uint64(10) {
		index.put(n<<32|n, int64(n))
		if len(index.positions) > 3 || len(index.ring) > 3 {
			t.Fatalf("after %d the index holds %d and %d", n, len(index.positions), len(index.ring))
		}
		for m := range n + 1 {
			offset, found := index.find(m<<32 | m)
			if found != (m+3 > n) || (found && offset != int64(m)) {
				t.Fatalf("after %d: %d is found %v at %d", n, m, found, offset)
			}
			if !index.mayContain(m<<32 | m) {
				t.Fatalf("after %d: %d was never seen", n, m)
			}
		}
	}
	index.put(9<<32|9, 77)
	if offset, _ := index.find(9<<32 | 9); offset != 77 || len(index.ring) != 3 {
		t.Errorf("a charge's second line did not take the first one's place: %d", offset)
	}
	index.put(10<<32|10, 10)
	if _, found := index.find(7<<32 | 7); found {
		t.Error("the oldest charge was not let go")
	}
}

func TestSieveRecognisesMostUnknownCharges(t *testing.T) {
	index := newIndex(16, filterBits)
	hash := func(n uint64) uint64 { u := id(n); return index.hash(u[:]) }
	const calls = 200_000
	for n := range uint64(calls) {
		index.put(hash(n), 0)
	}
	falsePositives := 0
	for n := range uint64(calls) {
		if !index.mayContain(hash(n)) {
			t.Fatalf("call %d was never seen", n)
		}
		if index.mayContain(hash(calls + n)) {
			falsePositives++
		}
	}
	if falsePositives > calls/1000 {
		t.Errorf("%d of %d unknown calls look known", falsePositives, calls)
	}
}

func TestInquiryOfACallThatNeverArrivedNeedsNoSearch(t *testing.T) {
	sim, disk := openFaulty(t)
	sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
	disk.failsRead = true
	sim.expect("inquiry", sim.inquire(2), notFoundOutcome)
}

func TestChargesDroppedFromTheIndexAreFoundInTheLog(t *testing.T) {
	sim := open(t)
	sim.index.bound = 4
	sim.log.chunkSize = 1000 // a chunk has four lines and part of another
	const calls = 100
	for n := range uint64(calls) {
		sim.submit(cardCall(n, actors.Pay, "4242424242424242"))
		if len(sim.index.positions) > 4 {
			t.Fatalf("the index holds %d", len(sim.index.positions))
		}
	}
	for n := range uint64(calls) {
		sim.expect("inquiry", sim.inquire(n), chargedOutcome(n))
	}
	sim.expect("unknown", sim.inquire(calls), notFoundOutcome)
	for i := range sim.index.bloomFilter { // so that the Bloom filter rejects nothing, as after very many calls
		sim.index.bloomFilter[i] = ^uint64(0)
	}
	sim.expect("unknown, although the sieve is full", sim.inquire(calls), notFoundOutcome)
}

func TestChargesWithEqualHashesAreDistinguished(t *testing.T) {
	sim := open(t)
	sim.submit(cardCall(1, actors.Pay, "4242424242424242"))
	sim.submit(cardCall(2, actors.Pay, "4000000000000002"))
	hash := func(n uint64) uint64 { return sim.index.hash(appendKey(nil, id(7), id(n))) }
	sim.index.positions[hash(2)] = sim.index.positions[hash(1)]
	sim.index.positions[hash(3)] = sim.index.positions[hash(1)]
	sim.expect("inquiry", sim.inquire(2), refusedOutcome("card_declined"))
	sim.expect("a new call", sim.submit(cardCall(3, actors.Pay, "4000000000009995")), refusedOutcome("insufficient_funds"))
	sim.expect("inquiry about it", sim.inquire(3), refusedOutcome("insufficient_funds"))
}

func TestOperationsTakeNoRoomInTheIndex(t *testing.T) {
	sim := open(t)
	sim.index.bound = 4
	for n := range uint64(8) {
		sim.submit(cardCall(n, actors.Pay, "4242424242424242"))
		for request := range uint64(20) {
			sim.submit(followUpCall(n, actors.Refund, request, 1))
			sim.submit(followUpCall(1000+n, actors.Void, request, 0)) // the call is about a charge that does not exist
		}
		if len(sim.index.positions) > 4 || len(sim.index.ring) > 4 {
			t.Fatalf("the index holds %d and %d", len(sim.index.positions), len(sim.index.ring))
		}
	}
	for n := range uint64(8) {
		sim.expect("all but one unit", sim.submit(followUpCall(n, actors.Refund, 100, 979)), grantedOutcome)
		sim.expect("two units", sim.submit(followUpCall(n, actors.Refund, 101, 2)), refusedOutcome("amount_above_charge"))
		sim.expect("the first refund again", sim.submit(followUpCall(n, actors.Refund, 0, 1)), grantedOutcome)
	}
}

func TestOldChargeContinuesFromItsNewestLine(t *testing.T) {
	for _, chunkSize := range []int64{600, 1000, 5000, chunkSize} {
		sim := open(t)
		sim.log.chunkSize = chunkSize
		sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
		sim.submit(cardCall(2, actors.Pay, "4242424242424242"))
		sim.forget()
		sim.expect("capture", sim.submit(followUpCall(1, actors.Capture, 3, 500)), chargedOutcome(1))
		sim.submit(cardCall(4, actors.Pay, "4242424242424242"))
		sim.forget()
		sim.expect("refund", sim.submit(followUpCall(1, actors.Refund, 5, 500)), grantedOutcome)
		sim.forget()
		sim.expect("one more", sim.submit(followUpCall(1, actors.Refund, 6, 1)), refusedOutcome("amount_above_charge"))
		sim.forget()
		sim.expect("inquiry about the capture", sim.inquireAbout(1, actors.Capture, 3), chargedOutcome(1))
	}
}

func TestASearchEndsWithItsContext(t *testing.T) {
	sim := open(t)
	sim.submit(heldCall(cardCall(1, actors.Pay, "4242424242424242")))
	sim.forget()
	endedCtx, cancel := context.WithCancel(t.Context())
	cancel()
	before := sim.content()
	sim.expect("capture", sim.Submit(endedCtx, followUpCall(1, actors.Capture, 2, 1000)), unknownOutcome)
	if !bytes.Equal(before, sim.content()) {
		t.Errorf("logged %s", sim.content()[len(before):])
	}
	sim.expect("capture again", sim.submit(followUpCall(1, actors.Capture, 2, 1000)), chargedOutcome(1))
}
