package search

import (
	"slices"

	"mizan/actors/follower"
	"mizan/ledger"
	"mizan/ledger/payment"
	"mizan/ledger/search"
	"mizan/posting"
)

// bounds limit the work of one call of Find.
type bounds struct {
	rows         int // rows of the index to read; each takes about a microsecond
	candidates   int // candidates whose records are read and compared; each takes about 10 µs
	tailEvents   int // newest events to read because they are not indexed yet; each takes about a microsecond
	tailCompared int // transactions of the newest events whose records are read and compared; each takes about 5 µs
}

// usualBounds suffice for an index of a hundred million payments, and for as many unindexed payments as arrive in a
// second under load.
var usualBounds = bounds{rows: 16_384, candidates: 1_000, tailEvents: 8_000, tailCompared: 2_000}

// Match is a transaction that was found, and the field that contains the text.
type Match struct {
	Field search.Field
	*payment.Record
}

// Find calls fn for each transaction of the organization with the text in one of the fields, until fn returns false. The order
// of the matches is that of the fields, and within a field by the last change, roughly newest first. If a bound was reached,
// so that there may be more matches, complete is false.
func (x *Index) Find(org ledger.ID, text string, fn func(Match) (more bool)) (complete bool, err error) {
	l := &lookup{org: org, folded: search.Fold(text), bounds: x.bounds, fn: fn, seenTransactions: make(map[ledger.ID]bool), complete: true, more: true}
	inMemory, position, hasBegun := x.inMemory(org, l.folded)
	l.view = x.follower.View() // opened after the memory was read, so that entries stored meanwhile are in the view's rows
	defer l.view.Close()
	if !hasBegun {
		if position, err = storedPosition(l.view, org); err != nil {
			return false, err
		}
	}
	if err := l.readTail(position); err != nil {
		return false, err
	}
	for field := range search.FieldsOf(l.folded) {
		l.findInTail(field)
		if err := l.compareAll(field, inMemory[field]); err != nil {
			return false, err
		}
		if err := l.readRows(field); err != nil {
			return false, err
		}
	}
	return l.complete, nil
}

// inMemory searches the entries in memory. For each field that may contain the text, it returns the seqs of the entries with
// the text's hash, newest first. It also returns the index's position. Before the first run, hasBegun is false.
func (x *Index) inMemory(org ledger.ID, folded string) (seqs map[search.Field][]uint64, position uint64, hasBegun bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	p := x.organizations[org]
	if p == nil {
		return nil, 0, false
	}
	seqs = make(map[search.Field][]uint64)
	for field := range search.FieldsOf(folded) {
		hash := field.HashOf(folded)
		for _, entry := range p.buckets[hash.Bucket()] {
			if entry.Hash == hash {
				seqs[field] = append(seqs[field], entry.Seq)
			}
		}
		slices.Reverse(seqs[field])
	}
	return seqs, p.seq, true
}

// lookup is the state of one call of Find.
type lookup struct {
	org              ledger.ID
	folded           string
	bounds           bounds // the work that this call of Find may still do
	fn               func(Match) bool
	view             *posting.View
	tail             []*payment.Record  // transactions of the tail that have not been passed to fn yet, newest first
	seenTransactions map[ledger.ID]bool // transactions of the tail, and transactions that were passed to fn
	seqs             []uint64           // memory that readRows reuses
	complete         bool
	more             bool // more matches are wanted, and no bound was reached
}

// stop ends the search because a bound was reached.
func (l *lookup) stop() { l.more, l.complete = false, false }

// readTail reads the events after a position, newest first, and their transactions. If a bound is reached, it stops,
// and the older events are not read.
func (l *lookup) readTail(position uint64) error {
	return l.view.Events(l.org, 0, func(e ledger.Event) (bool, error) {
		if e.Seq <= position {
			return false, nil
		}
		isNew := e.Source.Kind == ledger.Transaction && !l.seenTransactions[e.Source.ID]
		if l.bounds.tailEvents == 0 || isNew && l.bounds.tailCompared == 0 {
			l.complete = false
			return false, nil
		}
		l.bounds.tailEvents--
		if !isNew {
			return true, nil
		}
		l.bounds.tailCompared--
		l.seenTransactions[e.Source.ID] = true
		r, err := l.read(e.Source.ID)
		if err == nil && l.mayMatch(r) {
			l.tail = append(l.tail, r)
		}
		return true, err
	})
}

// mayMatch tells whether any field of a record contains the text.
func (l *lookup) mayMatch(r *payment.Record) bool {
	for field := range search.FieldsOf(l.folded) {
		if field.Has(r, l.folded) {
			return true
		}
	}
	return false
}

func (l *lookup) read(id ledger.ID) (*payment.Record, error) {
	t, err := follower.ReadTransaction(l.view, l.org, id)
	if err != nil {
		return nil, err
	}
	return t.Record()
}

// findInTail calls fn for the transactions of the tail whose field contains the text.
func (l *lookup) findInTail(field search.Field) {
	l.tail = slices.DeleteFunc(l.tail, func(r *payment.Record) bool {
		matches := l.more && field.Has(r, l.folded)
		if matches {
			l.more = l.fn(Match{field, r})
		}
		return matches
	})
}

// readRows reads the stored rows in which the text's hash may occur, and compares the candidates that it finds there.
func (l *lookup) readRows(field search.Field) error {
	if !l.more {
		return nil
	}
	hash := field.HashOf(l.folded)
	return l.view.KVsDescending(l.org, hash.Bucket().RowPrefix(), nil, func(key, value []byte) (bool, error) {
		if l.bounds.rows == 0 {
			l.stop()
			return false, nil
		}
		l.bounds.rows--
		parsed, err := search.ParseKey(key)
		if err != nil {
			return false, err
		}
		if l.seqs, err = search.Seqs(l.seqs[:0], parsed, value, hash); err != nil {
			return false, err
		}
		err = l.compareAll(field, l.seqs)
		return l.more, err
	})
}

// compareAll reads the transactions of the events with these seqs, and calls fn for those whose field contains the text.
func (l *lookup) compareAll(field search.Field, seqs []uint64) error {
	for _, seq := range seqs {
		if !l.more {
			return nil
		}
		if l.bounds.candidates == 0 {
			l.stop()
			return nil
		}
		l.bounds.candidates--
		e, _, found, err := l.view.Event(l.org, seq)
		if err != nil {
			return err
		}
		if !found || e.Source.Kind != ledger.Transaction || l.seenTransactions[e.Source.ID] {
			continue
		}
		r, err := l.read(e.Source.ID)
		if err != nil {
			return err
		}
		if field.Has(r, l.folded) {
			l.seenTransactions[r.ID] = true
			l.more = l.fn(Match{field, r})
		}
	}
	return nil
}
