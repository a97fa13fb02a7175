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
	Close    *Closing // nil if the Change closes no month
	Move     *Move    // nil if the Change does not belong to the move of an organization

	// Author is the person or program that asked for the Change. It is stored in each event of the Change. A Change without
	// events needs no author.
	Author ledger.Author

	// Cause identifies the request that caused the Change, so that the trace span of the Change's group can link to the
	// request. Cause is not stored. It is nil if no request caused the Change, or if traces are not recorded.
	Cause *tracing.Origin

	// MustRecord marks a Change that records something that has happened already: an outcome, a capture or a void, or a due
	// instant that has passed. Money that has moved must always be recorded, so the writer refuses such a Change only if its
	// version is stale or one of its claims is taken.
	MustRecord bool
}

// Step is the part of a Change that changes one record, and appends the events that describe how the record changes.
type Step struct {
	Org    ledger.ID
	Source ledger.Source

	// Expect is the version that the stored record must have. If Expect is 0, the record must be new. The writer does not check
	// whether the id of a new transaction or transfer is free, so such an id must be a UUID v4 that was generated for this
	// Change.
	Expect uint64

	// Record is the record's new payload, at most MaxRecord bytes. It may be nil only for a ledger.Transfer, which consists of
	// an event and has no row. Such a record has no stored version and is never due.
	Record []byte

	// Sealed is the new content of the record's sealed row, at most MaxSealed bytes. A sealed row is stored beside the record
	// for a limited time, and contains for example an encrypted card number. No event contains Sealed. If Sealed is nil, the
	// sealed row does not change, unless RemoveSealed removes it. The store's files keep removed bytes until they are
	// compacted, so Sealed must be ciphertext that nobody can read without its key.
	Sealed       []byte
	RemoveSealed bool

	// List is the list that shows the record; the zero value means no list. FurtherLists are more lists that show the record.
	List         ledger.List
	FurtherLists []ledger.List

	// Sequence is the name of the sequence that numbers a new record, at most MaxClaim bytes. If Sequence is empty, the record
	// gets no number. In each organization, the numbers of a sequence begin at 1 and have no gaps.
	Sequence string

	// DueQueue is the instant at which the record's timer fires next; 0 means never. Due replaces the record's previous due
	// instant. If DueQueue is in the past, the current instant is stored instead.
	Due ledger.Micros

	// Finish is true if the step's last event puts the record into a final state. The booked time of that event is then stored
	// in RecordHeader.FinishedAt.
	Finish bool

	// Events are the events without the fields that are known only at booking, such as Seq and Booked. The writer sets these
	// fields.
	Events []ledger.Event

	// Notices are notifications about the events of this step, in the order of the events.
	Notices []Notice

	// Transient are notices for listeners that follow an organization's notifications. These notices are not stored, so their
	// delivery is not guaranteed. Once the Change is durable, they are passed to the function of [Journal.OnNotices], together
	// with the stored notices.
	Transient []Notice
}

// Receipt is the result of a Change.
type Receipt struct {
	// Err is nil if the Change is durable. If the Change was refused, Err is a *ledger.Refusal, and nothing was written. If the
	// journal is closed or has failed, Err is ErrStopped; after a failure, the Change may be durable nevertheless.
	Err error

	// If Err has the code ledger.ClaimTaken, Claim is the index in Change.Claims of the first claim
	// that already has an owner, and Owner is that owner. The caller must not modify Owner.
	Claim int
	Owner []byte

	// If a counter guard refused the Change, Counter is the index of that guard in Change.Counters.
	Counter int

	// Headers contains, for each step, the header of the step's record.
	Headers []RecordHeader
}

// RecordHeader contains the fields that the writer stores beside a record's payload. Their values are those after the record's
// last Step.
type RecordHeader struct {
	Version     uint64
	FirstSeq    uint64        // seq of the record's first event
	LastSeq     uint64        // seq of the record's last event
	StartedAt   ledger.Micros // booked time of the record's first event
	UpdatedAt   ledger.Micros // booked time of the record's last event
	Due         ledger.Micros
	HeldSeq     uint64        // seq of the record's open pending entry; 0 if there is none
	SettledSeq  uint64        // seq of the record's first posted or captured entry; 0 if there is none
	FinishedAt  ledger.Micros // booked time of the last event that finished the record; 0 if there is none
	FurtherRows uint64        // number of rows in addition to the first, if the payload is too long for one row
	Number      uint64        // the record's number in its sequence; 0 if it has none
	Sealed      ledger.Hash   // hash of the record's sealed row; zero if it has none
}

// check returns an error if the caller has a bug. Submit calls it on the caller's goroutine, so that the bug makes only one
// request fail. On the writer's goroutines, it would end the process.
func (c *Change) check() error {
	if len(c.Steps) > MaxSteps {
		return fmt.Errorf("change of %d steps", len(c.Steps))
	}
	if len(c.Steps) > 0 && !c.Author.IsValid() {
		return fmt.Errorf("change of the author %+v", c.Author)
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
	if c.Move != nil {
		return c.Move.Check()
	}
	return c.checkSources()
}

// checkSources returns an error if two steps change the same record, because the expected versions of both would be compared
// with the same stored version. It also returns an error if the author is a record of one organization and a step changes a
// record of another.
func (c *Change) checkSources() error {
	if len(c.Steps) < 2 {
		return nil
	}
	for i := range c.Steps {
		if c.Author.Seq != 0 && c.Steps[i].Org != c.Steps[0].Org {
			return fmt.Errorf("an author of one organization changes the record %v of another", c.Steps[i].Source.ID)
		}
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
	if n := len(s.Sealed); n > MaxSealed || s.Sealed != nil && (n == 0 || s.RemoveSealed) {
		return fmt.Errorf("record %v: sealed row of %d bytes, removed: %v", s.Source.ID, n, s.RemoveSealed)
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

// isOnlyEvents tells whether the step's record may consist of its event alone, without a stored row. Neither a later change nor
// a timer ever reads such a record.
func (s *Step) isOnlyEvents() bool {
	return s.Source.Kind == ledger.Transfer && s.Expect == 0 && s.Due == 0 && s.Sealed == nil && !s.RemoveSealed
}

// checkEntry checks an entry with ledger.Entry.Check. It also checks two conditions of the writer: the assets can be stored,
// and there are not too many postings, even if each posting that may be split is split.
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
			if p.SplitWith != "" {
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
	return a.Env.IsValid() && a.Currency != "" && len(a.Currency) <= money.MaxName && len(a.Network) <= money.MaxName &&
		strings.IndexByte(string(a.Currency), 0) < 0 && strings.IndexByte(string(a.Network), 0) < 0
}
