package check

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"mizan/ledger"
	"mizan/posting/store"
)

// checkpoints is the reading of one organization's checkpoints of the trial balance
// beside its events. They are made again from what the events have made of the
// accounts, and compared row by row. One that is missing is no fault: it is made when
// there is time for it.
//
// Of contracts' own accounts the books keep no totals. Theirs are those of the
// checkpoint before, which was compared, and what events have moved since. Whatever
// does not agree then is found, and named, by a second reading with all accounts.
type checkpoints struct {
	*booksCheck
	books *books
	moved map[string]*ledger.Totals // by contracts' own accounts' keys, since the last head
	doubt bool                      // something does not agree
	next  func() (kvRow, bool)
	stop  func()
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

// checkpointsOf begins to read an organization's checkpoints. Stop it.
func (c *booksCheck) checkpointsOf() *checkpoints { return c.checkpointsBy(c.books) }

func (c *booksCheck) checkpointsBy(b *books) *checkpoints {
	p := &checkpoints{booksCheck: c, books: b, known: make(map[uint64]int), moved: make(map[string]*ledger.Totals)}
	p.next, p.stop = iter.Pull(func(yield func(kvRow) bool) {
		err := c.view.KVsAscending(c.organization.id, store.CheckpointHeads(), nil, func(key, row []byte) (bool, error) {
			return yield(kvRow{key: key, row: row}), c.alive()
		})
		if err != nil {
			yield(kvRow{err: err})
		}
	})
	p.turn()
	return p
}

func (p *checkpoints) wrong(format string, args ...any) {
	if p.books.own != nil {
		p.doubt = true
		return
	}
	p.report.breach(ruleTotals, "organization %v: "+format, append([]any{p.organization.id}, args...)...)
}

// turn reads the next head.
func (p *checkpoints) turn() {
	for {
		p.head = store.CheckpointHead{}
		row, more := p.next()
		switch {
		case !more:
			return
		case row.err != nil:
			if p.ctx.Err() == nil {
				p.wrong("%v", row.err)
			}
			return
		}
		head, err := store.DecodeCheckpointHead(row.key, row.row)
		if err == nil {
			p.head, p.row = head, bytes.Clone(row.row)
			return
		}
		p.wrong("%v", err)
	}
}

// follow compares the checkpoint after an event, if there is one, when the books have
// followed the event.
func (p *checkpoints) follow(e *ledger.Event) {
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
			p.report.count(ruleTotals, 1)
		}
		p.known[p.head.Seq], p.last = len(p.head.Parts), p.head
		clear(p.moved)
		p.turn()
	}
}

// compare makes a checkpoint again.
func (p *checkpoints) compare() {
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
func (p *checkpoints) ordered() []orderedAccount {
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
func (p *checkpoints) part(place int, want []byte) {
	got, found, err := p.view.KV(p.organization.id, store.KeyCheckpointPart(p.head.Seq, place))
	switch {
	case err != nil:
		p.wrong("the checkpoint after event %d: %v", p.head.Seq, err)
	case !found: // a head without it is not used
	case !bytes.Equal(got, want):
		p.wrong("the checkpoint after event %d has other totals in part %d than its events give%s", p.head.Seq, place, p.differs(got, want))
	}
}

// differs names the first account in which two parts differ.
func (p *checkpoints) differs(got, want []byte) string {
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

// end takes what is left when there are no more events: heads of none, and parts that
// no head names, but for those of a checkpoint that was cut off.
func (p *checkpoints) end() {
	for ; p.head.Seq != 0; p.turn() {
		p.wrong("there is a checkpoint after event %d, which is not there", p.head.Seq)
	}
	err := p.view.KVKeys(p.organization.id, store.CheckpointHeads()[:1], nil, func(key []byte) ([]byte, bool, error) {
		seq, place, ok := store.ParseCheckpointPart(key)
		parts, named := p.known[seq]
		switch {
		case bytes.HasPrefix(key, store.CheckpointHeads()):
		case !ok:
			p.wrong("a row of checkpoints of an unknown kind, with key %x", key)
		case seq <= p.last.Seq && (!named || place >= parts):
			p.wrong("part %d of the checkpoint after event %d is none of its parts", place, seq)
		}
		return nil, true, p.alive()
	})
	if err != nil && p.ctx.Err() == nil {
		p.wrong("%v", err)
	}
	if p.doubt && p.ctx.Err() == nil {
		p.again()
	}
}

// again reads everything once more, with the totals of all accounts.
func (p *checkpoints) again() {
	p.report.Counts.Reread++
	full := p.checkpointsBy(newBooks())
	defer full.stop()
	err := p.view.EventsAscending(p.organization.id, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry != nil {
			full.books.book(&e)
		}
		full.follow(&e)
		return true, p.alive()
	})
	if err != nil && p.ctx.Err() == nil {
		full.wrong("%v", err)
	}
	full.end()
}
