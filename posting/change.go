package posting

import (
	"mizan/internal/assert"
	"mizan/ledger"
)

// Change is everything that becomes durable together, or not at all.
type Change struct {
	Steps    []Step
	Claims   []ledger.Claim
	Funds    []ledger.FundsGuard
	Counters []ledger.CounterGuard

	// Outcome marks a Change that records what has already happened (an
	// outcome, a capture, a void, something due). It is refused only for its
	// version: money that has moved is always written down.
	Outcome bool
}

// Step moves one record by one or more events.
type Step struct {
	Org    ledger.ID
	Source ledger.Source
	Expect uint64 // the stored version; 0: the record is new

	// Record is the record's new payload, at most MaxRecord bytes; nil only for
	// records that are nothing but their event (ledger.Transfer).
	Record []byte

	// List names the transaction list that shows the record; the zero value: none.
	List List

	// Due is when the record wants to be woken; 0: never. It replaces what was due.
	Due ledger.Micros

	// Finish notes the time of the last event as the one at which the record
	// reached a final state.
	Finish bool

	// Events are drafts: the writer fills their late fields in place.
	Events []ledger.Event
}

// List is one partner's transactions in one environment.
type List struct {
	Partner int64
	Env     uint8 // money.Env
}

// Receipt tells what became of a Change.
type Receipt struct {
	// Err is nil once the Change is durable, a *ledger.Refusal if it was refused
	// and left nothing, or ErrStopped: unknown, the process is about to end.
	Err error

	// Owner is the value of the claim that was taken, for ledger.ClaimTaken.
	Owner []byte

	// Stamps has what the writer gave each step, in order.
	Stamps []Stamp
}

// Stamp is a record's envelope after a Step.
type Stamp struct {
	Version  uint64
	LastSeq  uint64        // seq of the record's last event
	Started  ledger.Micros // booked time of its first event
	Updated  ledger.Micros // booked time of its last event
	Due      ledger.Micros
	Held     uint64        // seq of the record's open pending entry; 0: none
	Settled  uint64        // seq of its first posted or captured entry; 0: none
	Finished ledger.Micros // booked time of the last event that finished it; 0: none
	Parts    uint64        // rows of the store that a long payload takes besides its own
}

// check asserts what a caller must never get wrong.
func (c *Change) check() {
	assert.That(len(c.Steps) <= MaxSteps, "change of %d steps", len(c.Steps))
	for i := range c.Claims {
		assert.That(len(c.Claims[i].Key) > 0 && len(c.Claims[i].Key) <= MaxClaim, "claim key of %d bytes", len(c.Claims[i].Key))
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		assert.That(len(s.Record) <= MaxRecord, "record of %d bytes", len(s.Record))
		assert.That(len(s.Events) > 0 && len(s.Events) <= MaxEvents, "step of %d events", len(s.Events))
		for k := range s.Events {
			if entry := s.Events[k].Entry; entry != nil {
				assert.NoError(entry.Check())
			}
		}
	}
}
