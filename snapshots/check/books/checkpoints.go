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

// Rule 2, checkpoints of the trial balance. A checkpoint holds what the events up to its
// own have made of each account. A missing checkpoint is no fault: the server makes it when
// there is time.

// Checkpoints is the reading of one organization's checkpoints of the trial balance
// beside its events. They are made again from what the events have made of the
// accounts, and compared row by row. One that is missing is no fault: it is made when
// there is time for it.
//
// Of contracts' own accounts the books keep no totals. Theirs are those of the
// checkpoint before, which was compared, and what events have moved since. Whatever
// does not agree then is found, and named, by a second reading with all accounts.
type Checkpoints struct {
	*Check
	books *Books
	moved map[string]*ledger.Totals // by contracts' own accounts' keys, since the last head
	doubt bool                      // something does not agree
	next  func() (scan.KV, bool)
	Stop  func()
	head  store.CheckpointHead // that comes next; no seq: there is none
	row   []byte               // as it is stored
	known map[uint64]int       // heads that were compared, and how many parts they name
	last  store.CheckpointHead // of these
	order []orderedAccount     // all accounts, by their keys
}

type orderedAccount struct {
	key  string
	at   ledger.Account
	made *account
}

// CheckpointsOf begins to read an organization's checkpoints. Stop it.
func (c *Check) CheckpointsOf() *Checkpoints { return c.checkpointsBy(c.books) }

func (c *Check) checkpointsBy(b *Books) *Checkpoints {
	p := &Checkpoints{Check: c, books: b, known: make(map[uint64]int), moved: make(map[string]*ledger.Totals)}
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

func (p *Checkpoints) wrong(format string, args ...any) {
	if p.books.own != nil {
		p.doubt = true
		return
	}
	p.Report.Breach(findings.RuleTotals, "organization %v: "+format, append([]any{p.organization.ID}, args...)...)
}

// advance reads the next head.
func (p *Checkpoints) advance() {
	for {
		p.head = store.CheckpointHead{}
		row, more := p.next()
		switch {
		case !more:
			return
		case row.Err != nil:
			if p.Ctx.Err() == nil {
				p.wrong("%v", row.Err)
			}
			return
		}
		head, err := store.DecodeCheckpointHead(row.Key, row.Row)
		if err == nil {
			p.head, p.row = head, bytes.Clone(row.Row)
			return
		}
		p.wrong("%v", err)
	}
}

// Follow compares the checkpoint after an event, if there is one, when the books have
// followed the event.
func (p *Checkpoints) Follow(e *ledger.Event) {
	p.move(e)
	for p.head.Seq != 0 && p.head.Seq <= e.Seq {
		switch {
		case p.head.Seq < e.Seq:
			p.wrong("the checkpoint after event %d comes too late", p.head.Seq)
		case p.head.Booked != e.Booked:
			p.wrong("the checkpoint after event %d lies at another time", e.Seq)
		default:
			p.compare()
		}
		if p.books.own != nil {
			p.Report.Count(findings.RuleTotals, 1)
		}
		p.known[p.head.Seq], p.last = len(p.head.Parts), p.head
		clear(p.moved)
		p.advance()
	}
}

// compare makes a checkpoint again.
func (p *Checkpoints) compare() {
	w := store.CheckpointWriter{Head: store.CheckpointHead{Seq: p.head.Seq, Booked: p.head.Booked, Previous: p.head.Previous}}
	place := 0
	part := func(want []byte) {
		if want != nil {
			p.part(place, want)
			place++
		}
	}
	for key, t := range p.totals() {
		part(w.Add([]byte(key), t))
	}
	part(w.Flush())
	if !bytes.Equal(store.EncodeCheckpointHead(&w.Head), p.row) {
		p.wrong("the checkpoint after event %d has %d accounts in %d parts with other sums than its %d accounts in %d parts",
			p.head.Seq, p.head.Accounts, len(p.head.Parts), w.Head.Accounts, len(w.Head.Parts))
	}
	if _, there := p.known[p.head.Previous]; !there && p.head.Previous != 0 {
		p.wrong("the checkpoint after event %d is made of one after event %d, which is not there", p.head.Seq, p.head.Previous)
	}
}

// ordered are the accounts that there are so far.
func (p *Checkpoints) ordered() []orderedAccount {
	if accounts := p.books.accounts; len(p.order) != len(accounts) {
		p.order = p.order[:0]
		for at, made := range accounts {
			p.order = append(p.order, orderedAccount{string(store.AccountKey(nil, at)), at, made})
		}
		slices.SortFunc(p.order, func(a, b orderedAccount) int { return cmp.Compare(a.key, b.key) })
	}
	return p.order
}

// part compares a part with what it should be.
func (p *Checkpoints) part(place int, want []byte) {
	got, found, err := p.View.KV(p.organization.ID, store.KeyCheckpointPart(p.head.Seq, place))
	switch {
	case err != nil:
		p.wrong("the checkpoint after event %d: %v", p.head.Seq, err)
	case !found: // a head without it is not used
	case !bytes.Equal(got, want):
		p.wrong("the checkpoint after event %d has other totals in part %d than its events give%s", p.head.Seq, place, p.differs(got, want))
	}
}

// differs names the first account in which two parts differ.
func (p *Checkpoints) differs(got, want []byte) string {
	totals := make(map[string]ledger.Totals)
	_ = store.DecodeCheckpointPart(want, func(key []byte, t *ledger.Totals) (bool, error) {
		totals[string(key)] = *t
		return true, nil
	})
	where := ""
	err := store.DecodeCheckpointPart(got, func(key []byte, t *ledger.Totals) (bool, error) {
		if wanted, there := totals[string(key)]; there && wanted == *t {
			return true, nil
		}
		if a, ok := store.ParseAccountKey(key); ok {
			where = ": account " + string(a.Path) + " " + a.Asset.String()
		}
		return false, nil
	})
	if err != nil {
		return ": it cannot be read"
	}
	return where
}

// End takes what is left when there are no more events: heads of none, and parts that
// no head names, but for those of a checkpoint that was cut off.
func (p *Checkpoints) End() {
	for ; p.head.Seq != 0; p.advance() {
		p.wrong("there is a checkpoint after event %d, which is not there", p.head.Seq)
	}
	err := p.View.KVKeys(p.organization.ID, store.CheckpointHeads()[:1], nil, func(key []byte) ([]byte, bool, error) {
		seq, place, ok := store.ParseCheckpointPart(key)
		parts, named := p.known[seq]
		switch {
		case bytes.HasPrefix(key, store.CheckpointHeads()):
		case !ok:
			p.wrong("a row of checkpoints of an unknown kind, with key %x", key)
		case seq <= p.last.Seq && (!named || place >= parts):
			p.wrong("part %d of the checkpoint after event %d is none of its parts", place, seq)
		}
		return nil, true, p.Interrupted()
	})
	if err != nil && p.Ctx.Err() == nil {
		p.wrong("%v", err)
	}
	if p.doubt && p.Ctx.Err() == nil {
		p.again()
	}
}

// again reads everything once more, with the totals of all accounts.
func (p *Checkpoints) again() {
	p.Report.Counts.Reread++
	full := p.checkpointsBy(newBooks())
	defer full.Stop()
	err := p.View.EventsAscending(p.organization.ID, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry != nil {
			full.books.book(&e)
		}
		full.Follow(&e)
		return true, p.Interrupted()
	})
	if err != nil && p.Ctx.Err() == nil {
		full.wrong("%v", err)
	}
	full.End()
}
