package books

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Rule 2, checkpoints of the trial balance. A checkpoint holds each account's totals after the
// event with the checkpoint's seq. Its rows are a head, which describes the checkpoint, and parts with the accounts.
// A missing checkpoint is no fault: the server writes
// checkpoints when it has time.

// Checkpoints reads an organization's checkpoints along with its events. It recomputes each
// checkpoint from the books and compares it row by row with the stored one.
//
// The books have no totals of accounts that belong to one contract. Such totals are those of the
// previous checkpoint, which was compared already, plus the postings since then. If a
// comparison fails, a second reading with all accounts in memory finds and names the fault.
type Checkpoints struct {
	*Check
	books               *Books
	postedSinceLastHead map[string]*ledger.Totals // totals posted since the last head to accounts that belong to one contract, by key
	hasMismatch         bool                      // a comparison has failed
	next                func() (scan.KV, bool)    // returns the next row with a head
	Stop                func()
	nextHead            store.CheckpointHead // the head of the next checkpoint; seq 0: there is no further one
	nextHeadRow         []byte               // that head as it is stored
	comparedHeads       map[uint64]int       // seq of a head that was compared → its number of parts
	lastHead            store.CheckpointHead // the last head that was compared
	sortedAccounts      []orderedAccount     // all accounts, ordered by their keys
}

// orderedAccount is an account with the key by which checkpoints order accounts.
type orderedAccount struct {
	key       string
	accountID ledger.Account
	account   *account
}

// ReadCheckpoints starts reading the organization's checkpoints. The caller must call Stop.
func (c *Check) ReadCheckpoints() *Checkpoints { return c.newCheckpoints(c.books) }

func (c *Check) newCheckpoints(b *Books) *Checkpoints {
	p := &Checkpoints{Check: c, books: b, comparedHeads: make(map[uint64]int), postedSinceLastHead: make(map[string]*ledger.Totals)}
	p.next, p.Stop = iter.Pull(func(yield func(scan.KV) bool) {
		err := c.View.KVsAscending(c.organization.ID, store.CheckpointHeads(), nil, func(key, row []byte) (bool, error) {
			return yield(scan.KV{Key: key, Row: row}), c.Interrupted()
		})
		if err != nil {
			yield(scan.KV{Err: err})
		}
	})
	p.advance()
	return p
}

// breach reports a fault of a checkpoint. If accounts that belong to one contract are not in memory, it only
// records the mismatch, and reread reports the fault.
func (p *Checkpoints) breach(format string, args ...any) {
	if p.books.contractAccounts != nil {
		p.hasMismatch = true
		return
	}
	p.Report.Breach(findings.RuleTotals, "organization %v: "+format, append([]any{p.organization.ID}, args...)...)
}

// advance reads the next checkpoint's head.
func (p *Checkpoints) advance() {
	for {
		p.nextHead = store.CheckpointHead{}
		row, more := p.next()
		switch {
		case !more:
			return
		case row.Err != nil:
			if p.Ctx.Err() == nil {
				p.breach("%v", row.Err)
			}
			return
		}
		head, err := store.DecodeCheckpointHead(row.Key, row.Row)
		if err == nil {
			p.nextHead, p.nextHeadRow = head, bytes.Clone(row.Row)
			return
		}
		p.breach("%v", err)
	}
}

// Follow compares the checkpoint at an event's seq, if there is one. The books must have
// applied the event already.
func (p *Checkpoints) Follow(e *ledger.Event) {
	p.addContractPostings(e)
	for p.nextHead.Seq != 0 && p.nextHead.Seq <= e.Seq {
		switch {
		case p.nextHead.Seq < e.Seq:
			p.breach("the checkpoint after event %d comes too late", p.nextHead.Seq)
		case p.nextHead.Booked != e.Booked:
			p.breach("the checkpoint after event %d has a wrong time in its key", e.Seq)
		default:
			p.compare()
		}
		if p.books.contractAccounts != nil {
			p.Report.Count(findings.RuleTotals, 1)
		}
		p.comparedHeads[p.nextHead.Seq], p.lastHead = len(p.nextHead.Parts), p.nextHead
		clear(p.postedSinceLastHead)
		p.advance()
	}
}

// compare computes a checkpoint and compares it with the stored one.
func (p *Checkpoints) compare() {
	w := store.CheckpointWriter{Head: store.CheckpointHead{Seq: p.nextHead.Seq, Booked: p.nextHead.Booked, Previous: p.nextHead.Previous}}
	part := 0
	compareNext := func(want []byte) {
		if want != nil {
			p.comparePart(part, want)
			part++
		}
	}
	for key, t := range p.totals() {
		compareNext(w.Add([]byte(key), t))
	}
	compareNext(w.Flush())
	if !bytes.Equal(store.EncodeCheckpointHead(&w.Head), p.nextHeadRow) {
		p.breach("the checkpoint after event %d has %d accounts in %d parts with other sums than its %d accounts in %d parts",
			p.nextHead.Seq, p.nextHead.Accounts, len(p.nextHead.Parts), w.Head.Accounts, len(w.Head.Parts))
	}
	if _, found := p.comparedHeads[p.nextHead.Previous]; !found && p.nextHead.Previous != 0 {
		p.breach("the checkpoint after event %d is made of one after event %d, which does not exist", p.nextHead.Seq, p.nextHead.Previous)
	}
}

// accountsInOrder returns all accounts so far, ordered by key.
func (p *Checkpoints) accountsInOrder() []orderedAccount {
	if accounts := p.books.accounts; len(p.sortedAccounts) != len(accounts) {
		p.sortedAccounts = p.sortedAccounts[:0]
		for accountID, account := range accounts {
			p.sortedAccounts = append(p.sortedAccounts, orderedAccount{string(store.AccountKey(nil, accountID)), accountID, account})
		}
		slices.SortFunc(p.sortedAccounts, func(a, b orderedAccount) int { return cmp.Compare(a.key, b.key) })
	}
	return p.sortedAccounts
}

// comparePart compares one stored part of a checkpoint with the computed one.
func (p *Checkpoints) comparePart(part int, want []byte) {
	got, found, err := p.View.KV(p.organization.ID, store.KeyCheckpointPart(p.nextHead.Seq, part))
	switch {
	case err != nil:
		p.breach("the checkpoint after event %d: %v", p.nextHead.Seq, err)
	case !found: // readers ignore a head that lacks a part
	case !bytes.Equal(got, want):
		p.breach("the checkpoint after event %d has other totals in part %d than its events give%s", p.nextHead.Seq, part, p.firstDifference(got, want))
	}
}

// firstDifference names the first account in which two parts differ.
func (p *Checkpoints) firstDifference(got, want []byte) string {
	totals := make(map[string]ledger.Totals)
	_ = store.DecodeCheckpointPart(want, func(key []byte, t *ledger.Totals) (bool, error) {
		totals[string(key)] = *t
		return true, nil
	})
	location := ""
	err := store.DecodeCheckpointPart(got, func(key []byte, t *ledger.Totals) (bool, error) {
		if wantTotals, found := totals[string(key)]; found && wantTotals == *t {
			return true, nil
		}
		if a, ok := store.ParseAccountKey(key); ok {
			location = ": account " + string(a.Path) + " " + a.Asset.String()
		}
		return false, nil
	})
	if err != nil {
		return ": it cannot be read"
	}
	return location
}

// End is called after the last event. It reports heads with a later seq, and parts that no head names.
// It does not report parts after the last head: an interrupted write leaves such parts.
func (p *Checkpoints) End() {
	for ; p.nextHead.Seq != 0; p.advance() {
		p.breach("there is a checkpoint after event %d, which does not exist", p.nextHead.Seq)
	}
	err := p.View.KVKeys(p.organization.ID, store.CheckpointHeads()[:1], nil, func(key []byte) ([]byte, bool, error) {
		seq, part, ok := store.ParseCheckpointPart(key)
		parts, hasHead := p.comparedHeads[seq]
		switch {
		case bytes.HasPrefix(key, store.CheckpointHeads()):
		case !ok:
			p.breach("a row of checkpoints of an unknown kind, with key %x", key)
		case seq <= p.lastHead.Seq && (!hasHead || part >= parts):
			p.breach("part %d of the checkpoint after event %d is not one of its parts", part, seq)
		}
		return nil, true, p.Interrupted()
	})
	if err != nil && p.Ctx.Err() == nil {
		p.breach("%v", err)
	}
	if p.hasMismatch && p.Ctx.Err() == nil {
		p.reread()
	}
}

// reread compares all checkpoints again, with the totals of all accounts.
func (p *Checkpoints) reread() {
	p.Report.Counts.Reread++
	secondReading := p.newCheckpoints(newBooks())
	defer secondReading.Stop()
	err := p.View.EventsAscending(p.organization.ID, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry != nil {
			secondReading.books.book(&e)
		}
		secondReading.Follow(&e)
		return true, p.Interrupted()
	})
	if err != nil && p.Ctx.Err() == nil {
		secondReading.breach("%v", err)
	}
	secondReading.End()
}
