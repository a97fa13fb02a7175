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
	lines  []byte        // memory of the writer, from one group to the next none
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
		assert.NoError(move(&b.totals, entry.Phase, p))
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
		b.group, b.lines = w.n, w.buffer()
		w.pages = append(w.pages, b)
		w.tail.add(1, pageSize+len(b.account.Path)+len(b.account.Asset.Currency)+len(b.account.Asset.Network))
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
	w.tail.bytes += len(b.lines) - before
	if e.Entry.Effective != e.Booked.Date() {
		w.key = store.KeyShifted(w.key[:0], b.org, b.account, e.Entry.Effective, e.Seq, index)
		w.group.Set(w.key, b.lines[before:])
	}
}

// buffer is memory for an account's lines in this group; keep takes it back.
// Accounts don't keep it: all that are remembered would, each as much as its
// busiest group took.
func (w *writer) buffer() []byte {
	n := len(w.buffers) - 1
	if n < 0 {
		return nil
	}
	b := w.buffers[n]
	w.buffers = w.buffers[:n]
	return b
}

// maxBuffers bounds the buffers kept from group to group.
const maxBuffers = 8_192

func (w *writer) keep(buffer []byte) {
	if c := cap(buffer); c > 0 && c <= maxKept && len(w.buffers) < maxBuffers {
		w.buffers = append(w.buffers, buffer[:0])
	}
}

// flushPage writes the account's page.
func (w *writer) flushPage(b *balance) {
	if len(b.lines) == 0 {
		return
	}
	w.key = store.KeyPage(w.key[:0], b.org, b.account, b.first)
	w.group.Set(w.key, b.lines)
	w.tail.bytes -= len(b.lines)
	b.lines = b.lines[:0]
}
