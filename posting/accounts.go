package posting

import (
	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/posting/store"
)

// accountKey identifies an account of an organization. The functions in this file load balances of accounts into memory, and
// book entries on these balances. They run on the orderer, the goroutine that prepares groups of changes.
type accountKey struct {
	org     ledger.ID
	account ledger.Account
}

// balance contains an account's running totals, and the page that collects the account's new lines. A line is a posting with
// the account's totals after it.
type balance struct {
	accountKey
	totals        ledger.Totals
	page          page
	hasStoredPage bool // the account has a stored page, and so appears in lists of accounts
}

func newBalance(k accountKey, prefix []byte) *balance {
	b := &balance{accountKey: k, page: page{prefix: prefix}}
	b.page.balance = b
	return b
}

// setTotalsAfter sets b.totals to the totals in the last line of lines.
func (b *balance) setTotalsAfter(lines []byte) error {
	return store.DecodePage(lines, func(l *store.Line) (bool, error) {
		b.totals = l.Totals
		return true, nil
	})
}

// account returns an account's balance. If the balance is not cached, account reads the totals from the account's last stored
// page.
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

// book applies an entry to its accounts, after all checks of the change have passed. It returns no error, because after the
// checks nothing may fail.
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

// release subtracts the amounts that a capture releases from the accounts' pending totals. If the capture has no posting on
// such an account, release appends a line that explains why the account's totals changed.
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

// hasPostingOn tells whether the entry has a posting on the same account as p.
func hasPostingOn(entry *ledger.Entry, p *ledger.Posting) bool {
	for i := range entry.Postings {
		if q := &entry.Postings[i]; q.Account == p.Account && q.Asset == p.Asset {
			return true
		}
	}
	return false
}

// appendLine appends a line for the posting to the page of the posting's account. If the entry's effective day is not the day
// on which it is booked, the line is also written as a row of its own, whose key contains the effective day.
func (w *writer) appendLine(b *balance, e *ledger.Event, index int, p *ledger.Posting) {
	page := &b.page
	w.makeRoom(page, e.Booked)
	l := store.Line{Seq: e.Seq, Index: index, Booked: e.Booked, Side: p.Side, Phase: e.Entry.Phase, Amount: p.Amount, Totals: b.totals}
	if index >= len(e.Entry.Postings) {
		l.Phase = ledger.Void // the posting was released without being captured
	}
	oldLength := len(page.lines)
	page.lines = store.EncodeLine(page.lines, &l)
	w.finishSize.bytes += len(page.lines) - oldLength
	if e.Entry.Effective != e.Booked.Date() {
		w.key = store.KeyShifted(w.key[:0], b.org, b.account, e.Entry.Effective, e.Seq, index)
		w.group.Set(w.key, page.lines[oldLength:])
	}
}

// newLines returns a spare buffer for the lines of a page, or nil if there is no spare buffer. When a page has no lines any
// more, its buffer is given back to recycle. Otherwise every cached page would keep a buffer as large as its busiest group
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

// maxBuffers is the maximum number of spare buffers that are kept for later groups.
const maxBuffers = 8_192

func (w *writer) recycle(buffer []byte) {
	if c := cap(buffer); c > 0 && c <= maxReusedBuffer && len(w.buffers) < maxBuffers {
		w.buffers = append(w.buffers, buffer[:0])
	}
}
