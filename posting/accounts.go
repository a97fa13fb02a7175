package posting

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/posting/store"
)

// accountKey identifies an account of an organization. The functions in this file load the balances of accounts into
// the memory of the orderer (the goroutine that prepares groups of changes), and book entries on them.
type accountKey struct {
	org     ledger.ID
	account ledger.Account
}

// balance is an account's running totals, and the page that collects its lines (its postings, each with the totals
// after it).
type balance struct {
	accountKey
	totals        ledger.Totals
	page          page
	hasStoredPage bool // the account has a stored page; lists of accounts are read from stored pages only
}

func newBalance(k accountKey, prefix []byte) *balance {
	b := &balance{accountKey: k, page: page{prefix: prefix}}
	b.page.balance = b
	return b
}

// setTotalsAfter sets the totals to those in the last line.
func (b *balance) setTotalsAfter(lines []byte) error {
	return store.DecodePage(lines, func(l *store.Line) (bool, error) {
		b.totals = l.Totals
		return true, nil
	})
}

// account returns an account's balance, from the cache or with one backwards seek.
func (w *writer) account(org ledger.ID, a ledger.Account) *balance {
	k := accountKey{org, a}
	b, ok := w.balances.get(k)
	if ok {
		return b
	}
	b = newBalance(k, store.KeyPages(nil, org, a))
	w.must(w.snapshot().Descend(b.page.prefix, nil, func(_, page []byte) (bool, error) {
		b.hasStoredPage = true
		return false, b.setTotalsAfter(page)
	}))
	w.balances.set(k, b)
	return b
}

const maxMicros = ledger.Micros(1<<63 - 1)

// book applies an entry, whose checks have passed, to the accounts. It returns no error because
// nothing may fail any more.
func (w *writer) book(org ledger.ID, e *ledger.Event) {
	entry := e.Entry
	if entry.Phase == ledger.Capture {
		w.release(org, e)
	}
	for i := range entry.Postings {
		p := &entry.Postings[i]
		b := w.account(org, ledger.Account{Path: p.Account, Asset: p.Asset})
		assert.NoError(move(&b.totals, entry.Phase, p))
		w.appendLine(b, e, i, p)
	}
}

// release subtracts from the pending totals what was held before the capture. An account without a posting in
// the capture gets a line of its own, which explains the change of its totals.
func (w *writer) release(org ledger.ID, e *ledger.Event) {
	released := e.Entry.Released
	for i := range released {
		p := &released[i]
		b := w.account(org, ledger.Account{Path: p.Account, Asset: p.Asset})
		assert.NoError(b.totals.Release(p.Side, p.Amount))
		if !hasPostingOn(e.Entry, p) {
			w.appendLine(b, e, len(e.Entry.Postings)+i, p)
		}
	}
}

// hasPostingOn tells whether the entry has a posting on the account of p.
func hasPostingOn(entry *ledger.Entry, p *ledger.Posting) bool {
	for i := range entry.Postings {
		if q := &entry.Postings[i]; q.Account == p.Account && q.Asset == p.Asset {
			return true
		}
	}
	return false
}

// appendLine appends the line of a posting to the page of the posting's account. If the entry takes effect on
// another day than it is booked, the line also gets a row of its own, under the effective day.
func (w *writer) appendLine(b *balance, e *ledger.Event, index int, p *ledger.Posting) {
	page := &b.page
	w.makeRoom(page, e.Booked)
	l := store.Line{Seq: e.Seq, Index: index, Booked: e.Booked, Side: p.Side, Phase: e.Entry.Phase, Amount: p.Amount, Totals: b.totals}
	if index >= len(e.Entry.Postings) {
		l.Phase = ledger.Void // the posting was released without being captured
	}
	oldLength := len(page.lines)
	page.lines = store.EncodeLine(page.lines, &l)
	w.tail.bytes += len(page.lines) - oldLength
	if e.Entry.Effective != e.Booked.Date() {
		w.key = store.KeyShifted(w.key[:0], b.org, b.account, e.Entry.Effective, e.Seq, index)
		w.group.Set(w.key, page.lines[oldLength:])
	}
}

// newLines returns memory for a page's lines; recycle takes the memory back for other pages. A page without
// lines has no memory of its own, because otherwise each cached page would hold as much as its busiest group
// needed.
func (w *writer) newLines() []byte {
	n := len(w.buffers) - 1
	if n < 0 {
		return nil
	}
	b := w.buffers[n]
	w.buffers = w.buffers[:n]
	return b
}

// maxBuffers bounds the number of spare buffers that are reused from group to group.
const maxBuffers = 8_192

func (w *writer) recycle(buffer []byte) {
	if c := cap(buffer); c > 0 && c <= maxReusedBuffer && len(w.buffers) < maxBuffers {
		w.buffers = append(w.buffers, buffer[:0])
	}
}
