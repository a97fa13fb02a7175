package balances

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// addFunc is the method of a Movement that adds an amount to it.
type addFunc func(*ledger.Movement, ledger.Side, money.Amount) error

// moveFunc is called with each posting that changes the totals of its account, with the method that adds its amount to the
// account's movement. seq is the number of the posting's event.
type moveFunc func(seq uint64, p *ledger.Posting, add addFunc) error

// entryReader reads what an organization's events change in the totals of accounts. It remembers pending entries, because a
// capture releases the amounts of the pending entry that it closes, but does not contain these amounts.
type entryReader struct {
	org               ledger.ID
	maxHolds          int                         // maximum number of pending entries in memory
	holds, olderHolds map[uint64][]ledger.Posting // seq → postings of a pending entry; at most half of maxHolds each
}

// eachMove calls move for each change by the events after afterSeq and up to upToSeq, in their order.
func (r *entryReader) eachMove(view *posting.View, afterSeq, upToSeq uint64, move moveFunc) error {
	if afterSeq >= upToSeq {
		return nil
	}
	last := afterSeq
	err := view.EventsAscending(r.org, afterSeq+1, func(e ledger.Event, _ []byte) (bool, error) {
		last = e.Seq
		return e.Seq < upToSeq, r.movesOf(view, &e, move)
	})
	if err == nil && last != upToSeq {
		err = damaged("organization %v: event %d is missing", r.org, upToSeq)
	}
	return err
}

// movesOf calls move for each change by one event.
func (r *entryReader) movesOf(view *posting.View, e *ledger.Event, move moveFunc) error {
	if e.Entry == nil {
		return nil
	}
	add := (*ledger.Movement).Post
	switch e.Entry.Phase {
	case ledger.Pending:
		add = (*ledger.Movement).Hold
		r.remember(e.Seq, e.Entry.Postings)
	case ledger.Void:
		add = (*ledger.Movement).Release
		r.forget(e.Entry.Closes)
	case ledger.Capture:
		released, err := r.holdOf(view, e.Entry.Closes)
		if err != nil {
			return err
		}
		for i := range released {
			if err := move(e.Seq, &released[i], (*ledger.Movement).Release); err != nil {
				return err
			}
		}
	}
	for i := range e.Entry.Postings {
		if err := move(e.Seq, &e.Entry.Postings[i], add); err != nil {
			return err
		}
	}
	return nil
}

// remember keeps a pending entry in memory. If there are too many, the older half is dropped.
func (r *entryReader) remember(seq uint64, postings []ledger.Posting) {
	if r.holds == nil || len(r.holds) >= r.maxHolds/2 {
		r.holds, r.olderHolds = make(map[uint64][]ledger.Posting), r.holds
	}
	r.holds[seq] = postings
}

func (r *entryReader) forget(seq uint64) {
	delete(r.holds, seq)
	delete(r.olderHolds, seq)
}

// holdOf returns the postings of a pending entry that is closed, and forgets it.
func (r *entryReader) holdOf(view *posting.View, seq uint64) ([]ledger.Posting, error) {
	for _, holds := range [...]map[uint64][]ledger.Posting{r.holds, r.olderHolds} {
		if postings, isKept := holds[seq]; isKept {
			delete(holds, seq)
			return postings, nil
		}
	}
	hold, _, found, err := view.Event(r.org, seq)
	if err != nil {
		return nil, err
	}
	if !found || hold.Entry == nil {
		return nil, damaged("organization %v: event %d holds nothing", r.org, seq)
	}
	return hold.Entry.Postings, nil
}
