package balances

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
)

// addFunc is a method of Movement that adds an amount.
type addFunc func(*ledger.Movement, ledger.Side, money.Amount) error

// moveFunc is called with each posting that changes the totals of its account. add adds the posting's amount to the account's
// movement. seq is the number of the posting's event.
type moveFunc func(seq uint64, p *ledger.Posting, add addFunc) error

// entryReader reads how an organization's events change the totals of accounts. It keeps pending entries in memory, because a
// capture releases the amounts of the pending entry that it closes, but does not contain these amounts.
type entryReader struct {
	org               ledger.ID
	maxHolds          int                         // maximum number of pending entries in memory
	holds, olderHolds map[uint64][]ledger.Posting // postings of pending entries, by seq; each map has at most half of maxHolds
}

// eachMove calls move for each change that the events after afterSeq and up to upToSeq make, in the order of the events.
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

// movesOf calls move for each change that one event makes.
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

// remember keeps a pending entry in memory. If there are too many, it drops the older half.
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

// holdOf returns the postings of the pending entry seq, and removes it from memory, because it is closed now.
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
