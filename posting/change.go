package posting

import (
	"strings"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
)

// Change is everything that becomes durable together, or not at all.
type Change struct {
	Steps    []Step
	Claims   []ledger.Claim
	Funds    []ledger.FundsGuard
	Counters []ledger.CounterGuard

	// Outcome marks a Change that records what has already happened (an
	// outcome, a capture, a void, something due). It is refused only for its
	// version, and for a claim if it takes one: money that has moved is always
	// written down.
	Outcome bool
}

// Step moves one record by one or more events.
type Step struct {
	Org    ledger.ID
	Source ledger.Source
	Expect uint64 // the stored version; 0: the record is new

	// Record is the record's new payload, at most MaxRecord bytes; nil only for
	// records that are nothing but their event (ledger.Transfer): they have no
	// version to be judged by and are never due.
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

	// Owner is the value of the claim that was taken, for ledger.ClaimTaken. It
	// is only to be read.
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

// check asserts what a caller must never get wrong: on the caller's goroutine,
// so that the mistake costs one answer and not the process.
func (c *Change) check() {
	assert.That(len(c.Steps) <= MaxSteps, "change of %d steps", len(c.Steps))
	for i := range c.Claims {
		claim := &c.Claims[i]
		assert.That(len(claim.Key) > 0 && len(claim.Key) <= MaxClaim, "claim key of %d bytes", len(claim.Key))
		assert.That(len(claim.Owner) <= MaxClaim, "claim owner of %d bytes", len(claim.Owner))
	}
	for i := range c.Counters {
		n := len(c.Counters[i].Key) + len(c.Counters[i].Window)
		assert.That(n <= MaxClaim, "counter key of %d bytes", n)
	}
	for i := range c.Steps {
		c.Steps[i].check()
	}
	c.checkSources()
}

func (s *Step) check() {
	assert.That(len(s.Record) <= MaxRecord, "record of %d bytes", len(s.Record))
	assert.That(s.Record != nil || s.bare(), "record %v without a payload", s.Source.ID)
	assert.That(len(s.Events) > 0 && len(s.Events) <= MaxEvents, "step of %d events", len(s.Events))
	for i := range s.Events {
		e := &s.Events[i]
		n := len(e.Name) + len(e.From) + len(e.To)
		assert.That(n <= MaxTexts, "event with %d bytes of names", n)
		if e.Entry != nil {
			checkEntry(e.Entry)
		}
	}
}

// bare tells that the step's record is nothing but its event, so that no later
// change, and nothing due, can look for it.
func (s *Step) bare() bool {
	return s.Source.Kind == ledger.Transfer && s.Expect == 0 && s.Due == 0
}

// checkEntry asserts what ledger.Entry.Check leaves to the writer: an asset that
// can be stored, and room for the postings that splitting adds.
func checkEntry(entry *ledger.Entry) {
	assert.NoError(entry.Check())
	n := len(entry.Postings)
	for _, list := range [2][]ledger.Posting{entry.Postings, entry.Released} {
		for i := range list {
			p := &list[i]
			if i == 0 || p.Asset != list[i-1].Asset {
				assert.That(storable(p.Asset), "entry: posting %d: asset %q", i, p.Asset)
			}
			if p.Spill != "" {
				n++
			}
		}
	}
	assert.That(n <= ledger.MaxPostings, "entry: %d postings when all are split", n)
}

func storable(a money.Asset) bool {
	return a.Env.Valid() && a.Currency != "" && len(a.Currency) <= money.MaxName && len(a.Network) <= money.MaxName &&
		strings.IndexByte(string(a.Currency), 0) < 0 && strings.IndexByte(string(a.Network), 0) < 0
}

// checkSources asserts that no record is moved by two steps: the second would
// be judged by the version that the first has left behind.
func (c *Change) checkSources() {
	if len(c.Steps) < 2 {
		return
	}
	seen := make(map[dueKey]bool, len(c.Steps))
	for i := range c.Steps {
		k := dueKey{c.Steps[i].Org, c.Steps[i].Source}
		assert.That(!seen[k], "record %v is moved twice", k.source.ID)
		seen[k] = true
	}
}
