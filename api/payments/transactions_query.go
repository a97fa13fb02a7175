package payments

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

// Bounds of a page of transactions (specification, "Limits").
const (
	pageDefault = 20
	pageMax     = 100
)

// filterParameters are the parameters that the list and the aggregate share. A txid is accepted
// and ignored (specification, "list").
var filterParameters = []string{
	"status", "type", "env", "started_from", "started_to", "updated_from", "updated_to", "finished_from", "finished_to",
	"amount_from", "amount_to", "rrn", "link_id", "txid",
}

var listParameters = slices.Concat(filterParameters, []string{"limit", "cursor", "order_by", "start_cursor", "end_cursor"})

// span is a range of instants, both ends included.
type span struct{ from, to ledger.Micros }

func (s span) contains(at ledger.Micros) bool { return s.from <= at && at <= s.to }

func (s span) intersect(o span) span { return span{max(s.from, o.from), min(s.to, o.to)} }

// transactionFilter holds the conditions on transactions.
type transactionFilter struct {
	env      money.Env
	status   payment.Status // empty: any; an unknown one matches nothing
	kind     payment.Type   // 0: any
	currency money.Currency // empty: any
	rrn      string         // empty: any
	link     ledger.ID
	linked   bool // link has a value

	minAmount, maxAmount money.Amount // bounds of the amount, both included

	started, updated, finished span
}

// matchesTimes tells whether a record's times meet the conditions.
func (f *transactionFilter) matchesTimes(s *posting.Stamp) bool {
	return f.started.contains(s.Started) && f.updated.contains(s.Updated) && f.finished.contains(s.Finished)
}

// matches tells whether a record meets all conditions that are not about times.
func (f *transactionFilter) matches(r *payment.Record) bool {
	return (f.status == "" || r.Status == f.status) && (f.kind == 0 || r.Type == f.kind) &&
		(f.currency == "" || r.Asset.Currency == f.currency) && (f.rrn == "" || r.RRN == f.rrn) &&
		(!f.linked || r.LinkID == f.link && r.LinkID != ledger.ID{}) && !r.Amount.Less(f.minAmount) && !f.maxAmount.Less(r.Amount)
}

// narrow tightens the bounds of each time by those of the other times, so that a walk ends sooner. A
// transaction finishes after it starts, and is last updated when it finishes or later.
func (f *transactionFilter) narrow() {
	f.started.to = min(f.started.to, f.finished.to, f.updated.to)
	f.updated.from = max(f.updated.from, f.finished.from, f.started.from)
}

// filterQuery reads a filter from a request's parameters.
type filterQuery struct {
	*web.Query
	transactionFilter
	now time.Time
}

func newFilterQuery(ctx *fasthttp.RequestCtx, now time.Time, known []string) *filterQuery {
	q := &filterQuery{Query: web.QueryOf(ctx, known...), now: now}
	q.refuseEmpty(known)
	f := &q.transactionFilter
	f.env = q.Query.Env()
	f.status = payment.Status(q.Text("status"))
	f.kind = q.readType()
	f.rrn = q.Text("rrn")
	f.link, f.linked = q.ID("link_id")
	f.minAmount, f.maxAmount = q.amount("amount_from", money.Amount{}), q.amount("amount_to", money.Max)
	f.started, f.updated, f.finished = q.span("started"), q.span("updated"), q.span("finished")
	if f.finished != (span{0, web.Forever}) {
		f.finished.from = max(f.finished.from, 1) // an unfinished transaction has the time 0
	}
	return q
}

// refuseEmpty refuses empty parameters, in the order of known, and forgets them, because an
// empty status must not mean any status.
func (q *filterQuery) refuseEmpty(known []string) {
	for _, name := range known {
		text, sent := q.Sent(name)
		if _, window := q.Sent("end_cursor"); name == "start_cursor" && !window {
			continue
		}
		if sent && text == "" && name != "txid" {
			q.Problems.Add(name, name+" must not be empty")
			q.Forget(name)
		}
	}
}

func (q *filterQuery) readType() payment.Type {
	text, sent := q.Sent("type")
	if !sent {
		return 0
	}
	kind, known := payment.ParseType(text)
	if !known {
		q.Problems.Add("type", "type must be payment or payout")
	}
	return kind
}

func (q *filterQuery) amount(name string, ifAbsent money.Amount) money.Amount {
	text, sent := q.Sent(name)
	if !sent {
		return ifAbsent
	}
	amount, err := money.Parse(text)
	if err != nil {
		q.Problems.Add(name, name+" must be a string of minor units")
	}
	return amount
}

// span reads the bounds of a time. web.ThroughNow explains an upper bound of now.
func (q *filterQuery) span(field string) span {
	s := span{0, web.Forever}
	if at, sent := q.time(field + "_from"); sent {
		s.from = web.CeilMicros(at)
	}
	if at, sent := q.time(field + "_to"); sent {
		s.to = web.ThroughNow(ledger.MicrosOf(at), q.now)
	}
	return s
}

// time reads a parameter that is an instant; sent is false if it is absent or malformed.
func (q *filterQuery) time(name string) (at time.Time, sent bool) {
	text, sent := q.Sent(name)
	if !sent {
		return at, false
	}
	if at, ok := web.ParseInstant(text); ok {
		return at, true
	}
	from, to := strings.HasSuffix(name, "from"), strings.HasSuffix(name, "_to")
	if day, err := time.Parse(time.DateOnly, text); err == nil && (from || to) {
		if to {
			day = day.Add(24*time.Hour - time.Microsecond) // a day includes its last microsecond
		}
		return day, true
	}
	q.Problems.Add(name, name+" must be an ISO 8601 time")
	return at, false
}

// listQuery is a request for a page of transactions.
type listQuery struct {
	*filterQuery
	limit    int
	byUpdate bool // ordered by the last update; otherwise by creation
}

// newListQuery reads a request for a page. The cursors are instants of the time by which the list is
// ordered, and become bounds of that time.
func newListQuery(ctx *fasthttp.RequestCtx, now time.Time, known []string) *listQuery {
	q := &listQuery{filterQuery: newFilterQuery(ctx, now, known)}
	if at, sent := q.time("from"); sent {
		q.started.from = max(q.started.from, web.CeilMicros(at))
	}
	q.limit = q.readLimit()
	q.byUpdate = q.Choice("order_by", "started", "updated") == "updated"
	order := q.order()
	*order = order.intersect(q.window())
	if at, sent := q.time("cursor"); sent {
		order.to = min(order.to, web.CeilMicros(at)-1)
	}
	q.narrow()
	return q
}

// order returns the time by which the list is ordered.
func (q *listQuery) order() *span {
	if q.byUpdate {
		return &q.updated
	}
	return &q.started
}

func (q *listQuery) orderName() string {
	if q.byUpdate {
		return "updated"
	}
	return "started"
}

// window returns the range between start_cursor and end_cursor; either of them may be the newer one. If
// only one of them was sent, it is ignored (specification, "list").
func (q *listQuery) window() span {
	_, start := q.Sent("start_cursor")
	_, end := q.Sent("end_cursor")
	if !start || !end {
		return span{0, web.Forever}
	}
	a, _ := q.time("start_cursor")
	b, _ := q.time("end_cursor")
	if b.Before(a) {
		a, b = b, a
	}
	return span{web.CeilMicros(a), ledger.MicrosOf(b)}
}

func (q *listQuery) readLimit() int {
	text, sent := q.Sent("limit")
	if !sent {
		return pageDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > pageMax || strconv.Itoa(n) != text {
		q.Problems.Add("limit", "limit must be from 1 to "+strconv.Itoa(pageMax))
		return pageDefault
	}
	return n
}
