package payments

import (
	"fmt"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	paymentactor "mizan/actors/payment"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Bounds of the work for one page. A page with fewer rows than requested has a cursor for the
// rest.
const (
	maxRead = 500     // records read
	maxRows = 200_000 // index rows read; reading a record costs as much as reading hundreds of rows
)

// walk reads the rows of a partner's transaction list, newest first.
type walk struct {
	view     *posting.View
	org      ledger.ID
	list     ledger.List
	byUpdate bool // ordered by the last update; otherwise by creation
	span     span // range of the times by which the list is ordered
}

// each calls fn with the rows that may belong to a transaction whose time is in w.span. These include
// rows of updates.
//
// The row of a creation is booked at the last event of the change that created the record, so a
// record that began within the span may have its row just after it. The events of one change
// are contiguous, so only the first creation after the span can be such a row.
func (w *walk) each(fn func(posting.Listed) (more bool, err error)) error {
	if w.span.from > w.span.to {
		return nil
	}
	bounds := posting.Walk{From: w.span.from}
	if w.span.to != web.Forever {
		bounds.Before = w.span.to + 1
		if !w.byUpdate {
			bounds.Before += posting.MaxEvents
		}
	}
	var firstAfter posting.Listed // the earliest creation after the span
	err := w.view.List(w.org, w.list, bounds, func(row posting.Listed) (bool, error) {
		if !w.byUpdate && row.Booked > w.span.to {
			if row.First {
				firstAfter = row
			}
			return true, nil
		}
		if firstAfter.First {
			first := firstAfter
			firstAfter = posting.Listed{}
			if more, err := fn(first); err != nil || !more {
				return false, err
			}
		}
		return fn(row)
	})
	if err == nil && firstAfter.First {
		_, err = fn(firstAfter)
	}
	return err
}

// listed returns the record of a row.
func (w *walk) listed(row posting.Listed) (posting.Record, error) {
	stored, found, err := w.view.Record(w.org, ledger.Source{Kind: ledger.Transaction, ID: row.ID})
	if err == nil && !found {
		err = fmt.Errorf("transaction %v is listed and not there", row.ID)
	}
	return stored, err
}

// transactionOf returns the transaction in a record.
func transactionOf(stored *posting.Record) (*payment.Record, error) {
	record, err := paymentcodec.Decode(stored.Payload)
	if err != nil {
		return nil, err
	}
	record.Finished = stored.Stamp.Finished
	return record, nil
}

// listPage is one page of a list while it is filled.
type listPage struct {
	walk
	handlers *Handlers
	partner  *directory.Partner // owner of the transactions
	query    *listQuery
	now      time.Time
	out      web.List
	seen     map[ledger.ID]struct{} // records read, if ordered by update

	rowsRead    int           // index rows read
	readTo      ledger.Micros // time of the last row read
	lastShown   ledger.Micros // time of the last transaction on the page
	next        ledger.Micros // the next page begins before this time; 0: there is none
	recordsRead int           // number of records read
}

// listPages are reused with their buffers.
var listPages = sync.Pool{New: func() any { return &listPage{seen: make(map[ledger.ID]struct{})} }}

// maxReusedBuffer bounds the buffers that are kept for reuse, because merchant_meta can be long.
const maxReusedBuffer = 1 << 20

// listTransactions is GET /transactions (specification, "list").
func (h *Handlers) listTransactions(req *web.Request) error {
	q, err := h.listQueryOf(req)
	if err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	p := listPages.Get().(*listPage)
	defer p.release()
	p.begin(h, q, view, req)
	if err := p.each(p.addRow); err != nil {
		return err
	}
	cursor := ""
	if p.next != 0 {
		cursor = p.next.Time().Format(schema.InstantLayout)
	}
	p.out.Buf = p.out.Finish(q.orderName(), cursor)
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, p.out.Buf)
	return nil
}

func (p *listPage) begin(h *Handlers, q *listQuery, view *posting.View, req *web.Request) {
	p.handlers, p.partner, p.query, p.now = h, req.Principal.Partner, q, h.cfg.Clock.Now()
	p.walk = walk{view: view, org: req.Principal.Org, list: q.listOf(req), byUpdate: q.byUpdate, span: *q.order()}
	p.out.Open('{')
	p.out.OpenField("data", '[')
}

func (p *listPage) release() {
	seen, buf := p.seen, p.out.Buf[:0]
	if cap(buf) > maxReusedBuffer {
		buf = nil
	}
	clear(seen)
	*p = listPage{seen: seen}
	p.out.Buf = buf
	listPages.Put(p)
}

// listOf returns the caller's list in the requested environment.
func (q *filterQuery) listOf(req *web.Request) ledger.List {
	return payment.Transactions.Of(req.Principal.Partner.Number, q.transactionFilter.env)
}

// addRow adds the row's transaction to the page if it meets the conditions. When the page is full, it
// looks at one more row, to find out whether the page is the last.
func (p *listPage) addRow(row posting.Listed) (more bool, err error) {
	if p.rowsRead++; p.recordsRead == maxRead || p.rowsRead > maxRows {
		p.next = p.readTo
		return false, nil
	}
	if p.stale(row) {
		p.readTo = row.Booked
		return true, nil
	}
	p.recordsRead++
	stored, err := p.listed(row)
	if err != nil {
		return false, err
	}
	q, stamp := p.query, &stored.Stamp
	p.readTo = stamp.Started
	if p.byUpdate {
		p.readTo = row.Booked
		p.seen[row.ID] = struct{}{}
	}
	if !q.matchesTimes(stamp) {
		return true, nil
	}
	record, err := transactionOf(&stored)
	if err != nil || !q.matches(record) {
		return true, err
	}
	if p.out.Rows == q.limit {
		p.next = p.lastShown
		return false, nil
	}
	p.out.Buf = p.handlers.appendTransaction(p.out.Buf, p.partner, &paymentactor.Result{Record: record, Stamp: *stamp}, viewed{at: p.now})
	p.out.Rows++
	p.lastShown = p.readTo
	return true, nil
}

// stale tells, without reading the record, whether a row is to be skipped. In the order of creation only
// rows of creations count. In the order of updates only a record's newest row counts, so a row is stale
// if the record was read before.
func (p *listPage) stale(row posting.Listed) bool {
	if !p.byUpdate {
		return !row.First
	}
	_, known := p.seen[row.ID]
	return known
}
