package books

import (
	"bytes"
	"iter"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting/store"
	"mizan/snapshots/check/scan"
)

// For rule 2 of the checker (totals, pages, months), this file checks the content of checkpoints. A checkpoint must
// contain the movement of each account: the sum of the account's postings since the checkpoint's base (an earlier
// checkpoint). It must also contain the sum of each group of accounts.

// addMovements adds an event's postings to the movements in p.movements. It does nothing after the last checkpoint, or
// after a comparison has failed.
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
	m := p.movements[key]
	if m == nil {
		m = new(ledger.Movement)
		p.movements[key] = m
	}
	if add(m, posting.Side, posting.Amount) != nil {
		p.hasMismatch = !p.isSecondPass // a total is out of range, which package check reports
	}
}

// contentSince adds up the given checkpoints and the movements since the last of them. It yields the sums in the
// order of the accounts' keys. Each movement is valid until the next one is yielded.
func (p *Checkpoints) contentSince(checkpoints []checkpoint) iter.Seq2[string, *ledger.Movement] {
	content := func(yield func(string, *ledger.Movement) bool) {
		for _, key := range slices.Sorted(maps.Keys(p.movements)) {
			if !yield(key, p.movements[key]) {
				return
			}
		}
	}
	for i := range checkpoints {
		content = p.sum(content, p.contentOf(&checkpoints[i]))
	}
	return content
}

// contentOf returns the movements in a checkpoint that has already been compared.
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

// storedContent returns the movements in the stored parts of a checkpoint. If a part cannot be read, p.hasMismatch
// becomes true. storedContent does not notice a missing part. But then the later checkpoint that compare computes from
// these movements differs from the stored one, so compare sets p.hasMismatch.
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
				if bytes.HasPrefix(part.Key, []byte(store.GroupKeys)) {
					continue // store.CheckpointWriter computes the sums of groups again
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

// sum merges two contents. It adds up the movements of accounts that both have.
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
