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

// Bounds of the work for one page. If a bound is reached, the page ends early. Its cursor continues the list.
const (
	maxRecordsRead = 500     // records read
	maxIndexRows   = 200_000 // index rows read; reading one record costs as much as reading hundreds of rows
)

// listWalk reads the rows of a partner's transaction list, newest first. The list is an index: it has one row for the
// creation of each transaction, and one for each update.
type listWalk struct {
	view     *posting.View
	org      ledger.ID
	list     ledger.List
	byUpdate bool      // if true, the order is by last update, otherwise by creation
	span     timeRange // only rows with a time in this range; it is the time of byUpdate's order
}

// each calls fn with the rows whose transactions may have a time in w.span, newest first. Rows of updates are included.
//
// The time in a creation's row is the time of the last event of the change that created the record. So if a record started
// within the span, its row may be just after the span. The events of one change are contiguous, so only the first creation
// after the span can be such a row.
func (w *listWalk) each(fn func(posting.ListRow) (more bool, err error)) error {
	if w.span.from > w.span.to {
		return nil
	}
	bounds := posting.ListRange{From: w.span.from}
	if w.span.to != web.Forever {
		bounds.Before = w.span.to + 1
		if !w.byUpdate {
			bounds.Before += posting.MaxEvents
		}
	}
	var firstAfter posting.ListRow // the earliest creation after the span
	err := w.view.List(w.org, w.list, bounds, func(row posting.ListRow) (bool, error) {
		if !w.byUpdate && row.Booked > w.span.to {
			if row.IsCreation {
				firstAfter = row
			}
			return true, nil
		}
		if firstAfter.IsCreation {
			earliest := firstAfter
			firstAfter = posting.ListRow{}
			if more, err := fn(earliest); err != nil || !more {
				return false, err
			}
		}
		return fn(row)
	})
	if err == nil && firstAfter.IsCreation {
		_, err = fn(firstAfter)
	}
	return err
}

// recordOf reads the record of a row.
func (w *listWalk) recordOf(row posting.ListRow) (posting.Record, error) {
	stored, found, err := w.view.Record(w.org, ledger.Source{Kind: ledger.Transaction, ID: row.ID})
	if err == nil && !found {
		err = fmt.Errorf("transaction %v is listed and not there", row.ID)
	}
	return stored, err
}

// transactionOf decodes the transaction in a record.
func transactionOf(stored *posting.Record) (*payment.Record, error) {
	record, err := paymentcodec.Decode(stored.Payload)
	if err != nil {
		return nil, err
	}
	record.FinishedAt = stored.Header.FinishedAt
	return record, nil
}

// listPage collects one page of a list.
type listPage struct {
	listWalk
	handlers *Handlers
	partner  *directory.Partner // owner of the transactions
	query    *listQuery
	now      time.Time
	body     web.List               // the body of the response
	readIDs  map[ledger.ID]struct{} // ids of the records read, if the list is ordered by update

	rowsRead    int           // index rows read
	readTo      ledger.Micros // time of the last row read
	lastShownAt ledger.Micros // time of the last transaction on the page
	nextBefore  ledger.Micros // the next page has only rows before this time; 0 if there is no next page
	recordsRead int           // number of records read
}

// listPages are reused with their buffers.
var listPages = sync.Pool{New: func() any { return &listPage{readIDs: make(map[ledger.ID]struct{})} }}

// maxReusedBuffer is the maximum size of a buffer that is kept for reuse. Buffers can become larger, because merchant_meta
// can be long.
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
	if p.nextBefore != 0 {
		cursor = p.nextBefore.Time().Format(schema.InstantLayout)
	}
	p.body.Buf = p.body.Finish(q.orderName(), cursor)
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, p.body.Buf)
	return nil
}

func (p *listPage) begin(h *Handlers, q *listQuery, view *posting.View, req *web.Request) {
	p.handlers, p.partner, p.query, p.now = h, req.Principal.Partner, q, h.cfg.Clock.Now()
	p.listWalk = listWalk{view: view, org: req.Principal.Org, list: q.listOf(req), byUpdate: q.byUpdate, span: *q.orderSpan()}
	p.body.Open('{')
	p.body.OpenField("data", '[')
}

func (p *listPage) release() {
	readIDs, buf := p.readIDs, p.body.Buf[:0]
	if cap(buf) > maxReusedBuffer {
		buf = nil
	}
	clear(readIDs)
	*p = listPage{readIDs: readIDs}
	p.body.Buf = buf
	listPages.Put(p)
}

// listOf returns the caller's list of transactions in the requested environment.
func (q *filterQuery) listOf(req *web.Request) ledger.List {
	return payment.Transactions.Of(req.Principal.Partner.Number, q.transactionFilter.env)
}

// addRow adds the row's transaction to the page if the transaction meets the conditions. If the page is full already, addRow
// only notes that there is a next page.
func (p *listPage) addRow(row posting.ListRow) (more bool, err error) {
	if p.rowsRead++; p.recordsRead == maxRecordsRead || p.rowsRead > maxIndexRows {
		p.nextBefore = p.readTo
		return false, nil
	}
	if p.isStale(row) {
		p.readTo = row.Booked
		return true, nil
	}
	p.recordsRead++
	stored, err := p.recordOf(row)
	if err != nil {
		return false, err
	}
	q, header := p.query, &stored.Header
	p.readTo = header.StartedAt
	if p.byUpdate {
		p.readTo = row.Booked
		p.readIDs[row.ID] = struct{}{}
	}
	if !q.matchesTimes(header) {
		return true, nil
	}
	record, err := transactionOf(&stored)
	if err != nil || !q.matches(record) {
		return true, err
	}
	if p.body.Rows == q.limit {
		p.nextBefore = p.lastShownAt
		return false, nil
	}
	p.body.Buf = p.handlers.appendTransaction(p.body.Buf, p.partner, &paymentactor.Result{Record: record, Header: *header}, viewContext{at: p.now})
	p.body.Rows++
	p.lastShownAt = p.readTo
	return true, nil
}

// isStale tells, without reading the record, whether to skip a row. If the list is ordered by creation, all rows of updates
// are skipped. If it is ordered by update, only the first row of a record, which is the newest, counts, and later ones are
// skipped.
func (p *listPage) isStale(row posting.ListRow) bool {
	if !p.byUpdate {
		return !row.IsCreation
	}
	_, known := p.readIDs[row.ID]
	return known
}
