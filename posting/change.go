package posting

import (
	"fmt"
	"strings"

	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
)

// Change is a set of writes that become durable together or not at all.
type Change struct {
	Steps    []Step
	Claims   []ledger.Claim
	Funds    []ledger.FundsGuard
	Counters []ledger.CounterGuard
	KVs      []KV
	Dates    []DateGuard
	Close    *Closing // nil: it closes no month

	// Cause identifies the request that caused the Change, for the hop of its group. It is not stored; nil: no request, or hops are not recorded.
	Cause *tracing.Origin

	// MustRecord marks a Change that records what has already happened (an outcome, a capture, a void, a
	// due instant that has passed). It is refused only if its version is stale or one of its claims is
	// taken, because moved money must always be recorded.
	MustRecord bool
}

// Step changes one record, and appends the events that describe the change.
type Step struct {
	Org    ledger.ID
	Source ledger.Source

	// Expect is the version that the record must have in the store; 0: the record is new. The random id (UUID v4) of a new
	// transaction or transfer must have been generated for this Change: the writer does not
	// check whether it is free.
	Expect uint64

	// Record is the record's new payload, at most MaxRecord bytes. It is nil only for records
	// that consist only of their event (ledger.Transfer): they have no stored version and are
	// never due.
	Record []byte

	// Sealed replaces the record's sealed row: up to MaxSealed bytes that stay beside the record
	// for a while, such as an encrypted card number. Events do not contain them. Nil leaves the
	// row unchanged; Unseal removes it. Files keep removed bytes until they are compacted, so
	// Sealed must be ciphertext that is unreadable without its key.
	Sealed []byte
	Unseal bool

	// List is the list that shows the record; the zero value: none. FurtherLists are further lists that show it.
	List         ledger.List
	FurtherLists []ledger.List

	// Sequence is the name of the sequence from which a new record takes its number; empty: none. The numbers begin at
	// 1 and have no gaps in an organization. At most MaxClaim bytes.
	Sequence string

	// Due is the record's next due instant, at which its timer fires; 0: never. It replaces the previous due instant.
	// An instant in the past is replaced by the clock's present instant.
	Due ledger.Micros

	// Finish is set if the step's last event brings the record into a final state. That event's time becomes
	// Stamp.Finished.
	Finish bool

	// Events are drafts. The writer fills in place what is known only at booking, such as Seq and Booked.
	Events []ledger.Event

	// Notices are notifications about these events, in their order.
	Notices []Notice

	// Transient are notices that nobody is owed: OnNotices hands them over with the others once the
	// Change is durable, and they are not stored. They are for listeners that follow an
	// organization's notifications.
	Transient []Notice
}

// Receipt is the result of a Change.
type Receipt struct {
	// Err is nil once the Change is durable, a *ledger.Refusal if it was refused and wrote
	// nothing, or ErrStopped: the outcome is unknown, and the process is about to end.
	Err error

	// If Err has the code ledger.ClaimTaken, Claim is the index in Change.Claims of the first claim
	// that already has an owner, and Owner is that owner. The caller must not modify Owner.
	Claim int
	Owner []byte

	// If a counter guard refused the Change, Counter is that guard's index in Change.Counters.
	Counter int

	// Stamps has the stamp of each step, in order.
	Stamps []Stamp
}

// Stamp is what the store keeps beside a record's payload (the record's envelope), as a Step leaves it.
type Stamp struct {
	Version     uint64
	LastSeq     uint64        // seq of the record's last event
	Started     ledger.Micros // booked time of its first event
	Updated     ledger.Micros // booked time of its last event
	Due         ledger.Micros
	HeldSeq     uint64        // seq of the record's open pending entry; 0: the record has none
	SettledSeq  uint64        // seq of its first posted or captured entry; 0: it has none
	Finished    ledger.Micros // booked time of the last event that finished the record; 0: none
	FurtherRows uint64        // number of the further rows of a long payload
	Number      uint64        // the record's number in its sequence; 0: it has none
	Sealed      ledger.Hash   // hash of its sealed row; zero: it has none
}

// check returns an error for a caller's bug. It runs on the caller's goroutine, so that the bug
// fails one request and not the process.
func (c *Change) check() error {
	if len(c.Steps) > MaxSteps {
		return fmt.Errorf("change of %d steps", len(c.Steps))
	}
	hashedClaims := 0
	for i := range c.Claims {
		claim := &c.Claims[i]
		if claim.Key == "" || len(claim.Key) > MaxClaim || len(claim.Owner) > MaxClaim {
			return fmt.Errorf("claim with a key of %d and an owner of %d bytes", len(claim.Key), len(claim.Owner))
		}
		if store.ClaimIsHashed(claim.Owner) {
			hashedClaims++
		}
	}
	if hashedClaims > ledger.MaxClaimHashes || hashedClaims > 0 && len(c.Steps) == 0 {
		return fmt.Errorf("%d claims that an event has to prove, and %d steps", hashedClaims, len(c.Steps))
	}
	for i := range c.Counters {
		if n := len(c.Counters[i].Key) + len(c.Counters[i].Window); n > MaxClaim {
			return fmt.Errorf("counter key of %d bytes", n)
		}
	}
	for i := range c.KVs {
		if err := c.KVs[i].check(); err != nil {
			return err
		}
	}
	for i := range c.Steps {
		if err := c.Steps[i].check(); err != nil {
			return err
		}
	}
	if err := c.checkClosing(); err != nil {
		return err
	}
	return c.checkSources()
}

// checkSources refuses a Change in which two steps change the same record, because the versions of both steps would be
// checked against the stored version.
func (c *Change) checkSources() error {
	if len(c.Steps) < 2 {
		return nil
	}
	seen := make(map[dueKey]bool, len(c.Steps))
	for i := range c.Steps {
		k := dueKey{c.Steps[i].Org, c.Steps[i].Source}
		if seen[k] {
			return fmt.Errorf("record %v is moved twice", k.source.ID)
		}
		seen[k] = true
	}
	return nil
}

func (s *Step) check() error {
	if len(s.Record) > MaxRecord || s.Record == nil && !s.isOnlyEvents() {
		return fmt.Errorf("record %v of %d bytes", s.Source.ID, len(s.Record))
	}
	if n := len(s.Sealed); n > MaxSealed || s.Sealed != nil && (n == 0 || s.Unseal) {
		return fmt.Errorf("record %v: sealed row of %d bytes, removed: %v", s.Source.ID, n, s.Unseal)
	}
	if len(s.Sequence) > MaxClaim || s.Sequence != "" && s.Record == nil {
		return fmt.Errorf("record %v: a sequence of %d bytes", s.Source.ID, len(s.Sequence))
	}
	if len(s.Events) == 0 || len(s.Events) > MaxEvents {
		return fmt.Errorf("step of %d events", len(s.Events))
	}
	for i := range s.Events {
		e := &s.Events[i]
		if n := len(e.Name) + len(e.From) + len(e.To); n > MaxTexts {
			return fmt.Errorf("event with %d bytes of names", n)
		}
		if e.Entry == nil {
			continue
		}
		if err := checkEntry(e.Entry); err != nil {
			return err
		}
	}
	return s.checkNotices()
}

// isOnlyEvents tells whether the step's record consists only of its event. Neither a later change nor a timer
// reads such a record.
func (s *Step) isOnlyEvents() bool {
	return s.Source.Kind == ledger.Transfer && s.Expect == 0 && s.Due == 0 && s.Sealed == nil && !s.Unseal
}

// checkEntry adds the writer's conditions to ledger.Entry.Check: assets that can be stored, and
// room for the postings that splitting adds.
func checkEntry(entry *ledger.Entry) error {
	if err := entry.Check(); err != nil {
		return err
	}
	n := len(entry.Postings)
	for _, list := range [2][]ledger.Posting{entry.Postings, entry.Released} {
		for i := range list {
			p := &list[i]
			if (i == 0 || p.Asset != list[i-1].Asset) && !isStorable(p.Asset) {
				return fmt.Errorf("entry: posting %d: asset %q", i, p.Asset)
			}
			if p.Spill != "" {
				n++
			}
		}
	}
	if n > ledger.MaxPostings {
		return fmt.Errorf("entry: %d postings when all are split", n)
	}
	return nil
}

func isStorable(a money.Asset) bool {
	return a.Env.Valid() && a.Currency != "" && len(a.Currency) <= money.MaxName && len(a.Network) <= money.MaxName &&
		strings.IndexByte(string(a.Currency), 0) < 0 && strings.IndexByte(string(a.Network), 0) < 0
}
