package books

import (
	"iter"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
	"mizan/snapshots/check/scan"
)

// For rule 2 of the checker (totals, pages, months), this file checks the content of checkpoints. A checkpoint must
// contain, for each account, the sum of what the events since the checkpoint's base (an earlier checkpoint) move on
// the account.

// addMovements adds what an event moves to p.moved, if another checkpoint follows.
func (p *Checkpoints) addMovements(e *ledger.Event, closedHold scan.Hold) {
	if p.nextHead.Seq == 0 || e.Entry == nil || p.hasMismatch {
		return
	}
	add, released := (*ledger.Movement).Post, []ledger.Posting(nil)
	switch e.Entry.Phase {
	case ledger.Pending:
		add = (*ledger.Movement).Hold
	case ledger.Void:
		add = (*ledger.Movement).Release
	case ledger.Capture:
		released = closedHold.Postings
	}
	for i := range released {
		p.move(&released[i], (*ledger.Movement).Release)
	}
	for i := range e.Entry.Postings {
		p.move(&e.Entry.Postings[i], add)
	}
}

// move adds a posting to the movement of its account.
func (p *Checkpoints) move(posting *ledger.Posting, add func(*ledger.Movement, ledger.Side, money.Amount) error) {
	key := string(store.AccountKey(nil, ledger.Account{Path: posting.Account, Asset: posting.Asset}))
	m := p.moved[key]
	if m == nil {
		m = new(ledger.Movement)
		p.moved[key] = m
	}
	if add(m, posting.Side, posting.Amount) != nil {
		p.hasMismatch = !p.isSecondPass // package check reports the total that leaves its range
	}
}

// contentSince returns what the given checkpoints and the events since the last of them move, ordered by the accounts'
// keys. Each movement is valid until the next one is yielded.
func (p *Checkpoints) contentSince(checkpoints []checkpoint) iter.Seq2[string, *ledger.Movement] {
	content := func(yield func(string, *ledger.Movement) bool) {
		for _, key := range slices.Sorted(maps.Keys(p.moved)) {
			if !yield(key, p.moved[key]) {
				return
			}
		}
	}
	for i := range checkpoints {
		content = p.sum(content, p.contentOf(&checkpoints[i]))
	}
	return content
}

// contentOf returns what a checkpoint that was compared contains.
func (p *Checkpoints) contentOf(c *checkpoint) iter.Seq2[string, *ledger.Movement] {
	if !p.isSecondPass {
		return p.storedContent(c.Seq)
	}
	return func(yield func(string, *ledger.Movement) bool) {
		for i := range c.accounts {
			if !yield(c.accounts[i].key, &c.accounts[i].movement) {
				return
			}
		}
	}
}

// storedContent returns what the stored parts of a checkpoint contain. If a part cannot be read, p.hasMismatch becomes
// true. If one is missing, the checkpoint that is computed differs from the stored one.
func (p *Checkpoints) storedContent(seq uint64) iter.Seq2[string, *ledger.Movement] {
	return func(yield func(string, *ledger.Movement) bool) {
		const heightOfParts = 0
		prefix := append(store.CheckpointRowsOf(seq), heightOfParts)
		err := p.View.KVsAscending(p.organization.ID, prefix, nil, func(_, row []byte) (bool, error) {
			part := store.NewCheckpointPart(row)
			for {
				more, err := part.Next()
				if err != nil || !more {
					return err == nil, err
				}
				if !yield(string(part.Key), &part.Movement) {
					return false, nil
				}
			}
		})
		if err != nil {
			p.hasMismatch = true
		}
	}
}

// sum adds up two contents.
func (p *Checkpoints) sum(first, second iter.Seq2[string, *ledger.Movement]) iter.Seq2[string, *ledger.Movement] {
	return func(yield func(string, *ledger.Movement) bool) {
		next, stop := iter.Pull2(second)
		defer stop()
		secondKey, secondMovement, more := next()
		for key, m := range first {
			for ; more && secondKey < key; secondKey, secondMovement, more = next() {
				if !yield(secondKey, secondMovement) {
					return
				}
			}
			sum := *m
			if more && secondKey == key {
				if sum.Add(secondMovement) != nil {
					p.hasMismatch = !p.isSecondPass
				}
				secondKey, secondMovement, more = next()
			}
			if !yield(key, &sum) {
				return
			}
		}
		for ; more; secondKey, secondMovement, more = next() {
			if !yield(secondKey, secondMovement) {
				return
			}
		}
	}
}
