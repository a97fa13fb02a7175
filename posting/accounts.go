package posting

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/posting/store"
)

type accountKey struct {
	org     ledger.ID
	account ledger.Account
}

// balance is an account's running totals and its page of the group being
// prepared.
type balance struct {
	accountKey
	totals ledger.Totals
	group  uint64        // the group that the page belongs to
	first  ledger.Micros // booked time of the page's first line
	last   ledger.Micros // and of its last
	lines  []byte
}

// account finds an account's balance: remembered, or one backwards seek.
func (w *writer) account(org ledger.ID, a ledger.Account) *balance {
	k := accountKey{org, a}
	if b, ok := w.balances.get(k); ok {
		return b
	}
	b := &balance{accountKey: k}
	prefix := store.KeyPages(nil, org, a)
	_, row, found, err := w.snapshot().Last(prefix, store.KeyPage(nil, org, a, maxMicros))
	w.must(err)
	if found {
		w.must(store.DecodePage(row, func(l *store.Line) (bool, error) {
			b.totals = l.Totals
			return true, nil
		}))
	}
	w.balances.set(k, b)
	return b
}

const maxMicros = ledger.Micros(1<<63 - 1)

// book applies an entry, whose checks have passed, to the accounts. It returns
// nothing because nothing may fail any more.
func (w *writer) book(org ledger.ID, e *ledger.Event) {
	entry := e.Entry
	if entry.Phase == ledger.Capture {
		w.release(org, e)
	}
	for i := range entry.Postings {
		p := &entry.Postings[i]
		b := w.account(org, ledger.Account{Path: p.Account, Asset: p.Asset})
		switch entry.Phase {
		case ledger.Posted, ledger.Capture:
			assert.NoError(b.totals.Post(p.Side, p.Amount))
		case ledger.Pending:
			assert.NoError(b.totals.Hold(p.Side, p.Amount))
		case ledger.Void:
			assert.NoError(b.totals.Release(p.Side, p.Amount))
		}
		w.line(b, e, i, p)
	}
}

// release takes off what a captured entry held. An account that the capture
// does not post to gets a line of its own, so that its totals are explained.
func (w *writer) release(org ledger.ID, e *ledger.Event) {
	released := e.Entry.Released
	for i := range released {
		p := &released[i]
		b := w.account(org, ledger.Account{Path: p.Account, Asset: p.Asset})
		assert.NoError(b.totals.Release(p.Side, p.Amount))
		if !posts(e.Entry, p) {
			w.line(b, e, len(e.Entry.Postings)+i, p)
		}
	}
}

func posts(entry *ledger.Entry, p *ledger.Posting) bool {
	for i := range entry.Postings {
		if q := &entry.Postings[i]; q.Account == p.Account && q.Asset == p.Asset {
			return true
		}
	}
	return false
}

// line appends a posting's line to its account's page.
func (w *writer) line(b *balance, e *ledger.Event, index int, p *ledger.Posting) {
	if b.group != w.n {
		b.group, b.lines = w.n, b.lines[:0]
		w.pages = append(w.pages, b)
	}
	if len(b.lines) > store.MaxPage && b.last != e.Booked {
		w.flushPage(b) // never between two lines of one event: its time is the page's key
	}
	if len(b.lines) == 0 {
		b.first = e.Booked
	}
	b.last = e.Booked
	l := store.Line{Seq: e.Seq, Index: index, Booked: e.Booked, Side: p.Side, Phase: e.Entry.Phase, Amount: p.Amount, Totals: b.totals}
	if index >= len(e.Entry.Postings) {
		l.Phase = ledger.Void // released without being captured
	}
	before := len(b.lines)
	b.lines = store.EncodeLine(b.lines, &l)
	w.unflushed += len(b.lines) - before
	if e.Entry.Effective != e.Booked.Date() {
		w.key = store.KeyShifted(w.key[:0], b.org, b.account, e.Entry.Effective, e.Seq, index)
		w.group.Set(w.key, store.EncodeLine(w.value[:0], &l))
	}
}

// flushPage writes the account's page.
func (w *writer) flushPage(b *balance) {
	if len(b.lines) == 0 {
		return
	}
	w.key = store.KeyPage(w.key[:0], b.org, b.account, b.first)
	w.group.Set(w.key, b.lines)
	w.unflushed -= len(b.lines)
	b.lines = b.lines[:0]
}

// split replaces postings that spill by what the accounts' totals decide.
func (w *writer) split(org ledger.ID, entry *ledger.Entry) {
	spills := false
	for i := range entry.Postings {
		spills = spills || entry.Postings[i].Spill != ""
	}
	if !spills {
		return
	}
	postings := make([]ledger.Posting, 0, len(entry.Postings)+1)
	for _, p := range entry.Postings {
		if p.Spill == "" {
			postings = append(postings, p)
			continue
		}
		postings = w.splitOne(org, postings, p)
	}
	entry.Postings = postings
}

func (w *writer) splitOne(org ledger.ID, to []ledger.Posting, p ledger.Posting) []ledger.Posting {
	other := ledger.Posting{Account: p.Spill, Asset: p.Asset, Side: p.Side}
	p.Spill = ""
	if p.Side == ledger.Credit {
		// A credit first pays off what is owed.
		owed := w.account(org, ledger.Account{Path: other.Account, Asset: p.Asset}).totals.Balance(ledger.Debit)
		if !owed.Negative {
			other.Amount = owed.Abs.Min(p.Amount)
		}
	} else {
		// A debit takes what is available; what is lacking becomes owed.
		available := w.account(org, ledger.Account{Path: p.Account, Asset: p.Asset}).totals.Available()
		other.Amount = p.Amount
		if !available.Negative {
			other.Amount, _ = p.Amount.Sub(available.Abs.Min(p.Amount))
		}
	}
	rest, err := p.Amount.Sub(other.Amount)
	assert.NoError(err)
	if p.Amount = rest; !p.Amount.IsZero() {
		to = append(to, p)
	}
	if !other.Amount.IsZero() {
		to = append(to, other)
	}
	return to
}
