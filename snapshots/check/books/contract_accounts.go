package books

import (
	"bytes"
	"crypto/sha256"
	"hash/maphash"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots/check/scan"
)

// Rule 2, accounts that belong to one contract. A contract has several such accounts, so
// that none of them is kept in memory: the hashes of their lines are summed up as the
// journal gives them and as the pages hold them, and running totals are followed from line
// to line as pages are read. If the sums differ, all is booked again with all accounts.

// ownBooks are the accounts that contracts have to themselves. A contract has several,
// so that nothing is kept of any: what the journal gives for their lines and what is
// on their pages are added up, each line with what it says but its running totals, which
// are followed from line to line as the pages are read.
type ownBooks struct {
	seed     maphash.Seed
	given    lineSum // by the journal
	paged    lineSum // by the pages
	wrong    bool    // a line does not follow the one before it
	accounts uint64  // with pages
	sums     map[money.Asset]*ledger.Totals
	shifted  map[uint64]ledger.Date  // lines that should be there by effective date too
	known    func(id ledger.ID) bool // whether a contract has had an event

	row, again []byte
}

// lineSum is a number of lines and the sum of their hashes, whatever their order.
type lineSum struct{ lines, sum uint64 }

func newOwnBooks(h *scan.Histories) *ownBooks {
	known := func(id ledger.ID) bool { return h.Find(ledger.Source{Kind: ledger.Contract, ID: id}) != nil }
	return &ownBooks{known: known, seed: maphash.MakeSeed(), sums: make(map[money.Asset]*ledger.Totals), shifted: make(map[uint64]ledger.Date)}
}

// has tells whether an event posts to a contract's own account: its own contract's, or
// one's of which there are events. What it does there but posting is looked at when all
// is booked again, as other accounts are.
func (b *ownBooks) has(e *ledger.Event, path ledger.Path) bool {
	id, own := scan.OwnerContract(path)
	if !own || e.Source != (ledger.Source{Kind: ledger.Contract, ID: id}) && !b.known(id) {
		return false
	}
	if e.Entry.Phase != ledger.Posted {
		b.wrong = true
		return false
	}
	return true
}

// hash stands for what a line says but its totals.
func (b *ownBooks) hash(at ledger.Account, l *store.Line) uint64 {
	bare := *l
	bare.Totals = ledger.Totals{}
	b.row = store.EncodeLine(b.row[:0], &bare)
	var m maphash.Hash
	m.SetSeed(b.seed)
	_, _ = m.WriteString(string(at.Path)) // it never fails, here and below
	_ = m.WriteByte(0)
	_, _ = m.WriteString(string(at.Asset.Currency))
	_ = m.WriteByte(0)
	_, _ = m.WriteString(string(at.Asset.Network))
	_ = m.WriteByte(byte(at.Asset.Env))
	_, _ = m.Write(b.row)
	return m.Sum64()
}

// post takes in a posting to a contract's own account.
func (b *ownBooks) post(at ledger.Account, e *ledger.Event, index int, p *ledger.Posting) (inRange bool) {
	l := store.Line{Seq: e.Seq, Index: index, Booked: e.Booked, Side: p.Side, Phase: e.Entry.Phase, Amount: p.Amount}
	h := b.hash(at, &l)
	b.given.lines++
	b.given.sum += h
	if e.Entry.Effective != e.Booked.Date() {
		b.shifted[h] = e.Entry.Effective
	}
	if b.sums[at.Asset] == nil {
		b.sums[at.Asset] = new(ledger.Totals)
	}
	return b.sums[at.Asset].Post(p.Side, p.Amount) == nil
}

// agrees tells whether the pages have exactly the lines that the journal gives.
func (b *ownBooks) agrees() bool { return b.given == b.paged && !b.wrong }

// ownLines are the lines of a contract's own account as its pages are read.
type ownLines struct {
	at     ledger.Account
	books  *Books
	totals ledger.Totals
	seq    uint64
	index  int
}

// add follows lines that come next.
func (o *ownLines) add(lines []byte) {
	if len(lines) == 0 {
		return
	}
	own, b := o.books.own, o.books
	again := own.again[:0]
	err := store.DecodePage(lines, func(l *store.Line) (bool, error) {
		if o.totals.Post(l.Side, l.Amount) != nil || o.totals != l.Totals || l.Seq < o.seq || l.Seq == o.seq && l.Index <= o.index {
			own.wrong = true
		}
		o.seq, o.index = l.Seq, l.Index
		h := own.hash(o.at, l)
		own.paged.lines++
		own.paged.sum += h
		start := len(again)
		again = store.EncodeLine(again, l)
		if effective, shifted := own.shifted[h]; shifted {
			b.key = store.KeyShifted(b.key[:0], ledger.ID{}, o.at, effective, l.Seq, l.Index)
			b.shifted[shortOf(b.key, again[start:])] = l.Seq
		}
		return true, nil
	})
	own.again = again
	if err != nil || !bytes.Equal(again, lines) {
		own.wrong = true
	}
}

// recount books contracts' own accounts as all others are, and reads their pages again:
// it finds which of them are wrong, and where.
func (p *paging) recount() error {
	c, o := p.Check, p.organization
	full := newBooks()
	err := c.View.EventsAscending(o.ID, 1, func(e ledger.Event, _ []byte) (bool, error) {
		if e.Entry != nil {
			full.book(&e)
		}
		return true, c.Interrupted()
	})
	if err != nil {
		return err
	}
	c.Report.Counts.Accounts -= p.books.own.accounts // they are among all others from here on
	p.books.shifted, p.books.own = full.shifted, &ownBooks{known: p.books.own.known}
	for at, a := range full.accounts {
		if id, own := scan.OwnerContract(at.Path); own && p.books.own.known(id) {
			p.books.accounts[at] = a
		}
	}
	again := &paging{Check: c, stream: sha256.New(), lines: make(map[ledger.Account][]byte)}
	if err := c.View.Gathered(o.ID, again.gather); err != nil {
		return err
	}
	for at := range again.lines {
		if a := p.books.accounts[at]; a == nil || a.paged {
			delete(again.lines, at)
		}
	}
	err = c.View.Rows(o.ID, posting.Pages, func(key, row []byte) (bool, error) {
		at, ok := store.ParsePageKey(key)
		if !ok {
			return true, nil
		}
		if a := p.books.accounts[at]; again.prefix == nil || at != again.at {
			again.end()
			again.prefix = nil
			if _, own := scan.OwnerContract(at.Path); !own || a != nil && a.paged {
				return true, c.Interrupted()
			}
			again.begin(at, append([]byte(nil), key[:len(key)-8]...))
			again.own = nil
		}
		again.add(row)
		return true, c.Interrupted()
	})
	again.end()
	p.differ = append(p.differ, again.differ...)
	return err
}
