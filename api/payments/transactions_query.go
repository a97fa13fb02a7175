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

// filterParameters are the parameters that the list and the aggregate have in common. The parameter txid is accepted and
// ignored (specification, "list").
var filterParameters = []string{
	"status", "type", "env", "started_from", "started_to", "updated_from", "updated_to", "finished_from", "finished_to",
	"amount_from", "amount_to", "rrn", "link_id", "txid",
}

var listParameters = slices.Concat(filterParameters, []string{"limit", "cursor", "order_by", "start_cursor", "end_cursor"})

// timeRange is a range of instants, which includes both ends.
type timeRange struct{ from, to ledger.Micros }

func (s timeRange) contains(at ledger.Micros) bool { return s.from <= at && at <= s.to }

func (s timeRange) intersect(o timeRange) timeRange {
	return timeRange{max(s.from, o.from), min(s.to, o.to)}
}

// transactionFilter holds the conditions on transactions.
type transactionFilter struct {
	env      money.Env
	status   payment.Status // empty: any; an unknown status matches nothing
	kind     payment.Type   // 0: any
	currency money.Currency // empty: any
	rrn      string         // empty: any
	link     ledger.ID      // id of a payment link
	hasLink  bool           // if false, link is not a condition

	minAmount, maxAmount money.Amount // bounds of the amount, both included

	started, updated, finished timeRange
}

// matchesTimes tells whether a record's times meet the filter's conditions.
func (f *transactionFilter) matchesTimes(s *posting.RecordHeader) bool {
	return f.started.contains(s.StartedAt) && f.updated.contains(s.UpdatedAt) && f.finished.contains(s.FinishedAt)
}

// matches tells whether a record meets all conditions that are not about times.
func (f *transactionFilter) matches(r *payment.Record) bool {
	return (f.status == "" || r.Status == f.status) && (f.kind == 0 || r.Type == f.kind) &&
		(f.currency == "" || r.Asset.Currency == f.currency) && (f.rrn == "" || r.RRN == f.rrn) &&
		(!f.hasLink || r.LinkID == f.link && r.LinkID != ledger.ID{}) && !r.Amount.Less(f.minAmount) && !f.maxAmount.Less(r.Amount)
}

// tightenBounds uses the bounds of all times to tighten the bounds of the start and of the last update, so that fewer rows are
// read. It relies on the order of the times: a transaction finishes after it starts, and its last update is at its finish or
// later.
func (f *transactionFilter) tightenBounds() {
	f.started.to = min(f.started.to, f.finished.to, f.updated.to)
	f.updated.from = max(f.updated.from, f.finished.from, f.started.from)
}

// filterQuery reads a filter from a request's parameters.
type filterQuery struct {
	*web.Query
	transactionFilter
	now time.Time
}

func newFilterQuery(ctx *fasthttp.RequestCtx, now time.Time, parameters []string) *filterQuery {
	q := &filterQuery{Query: web.QueryOf(ctx, parameters...), now: now}
	q.refuseEmpty(parameters)
	f := &q.transactionFilter
	f.env = q.Query.Env()
	f.status = payment.Status(q.Text("status"))
	f.kind = q.readType()
	f.rrn = q.Text("rrn")
	f.link, f.hasLink = q.ID("link_id")
	f.minAmount, f.maxAmount = q.readAmount("amount_from", money.Amount{}), q.readAmount("amount_to", money.Max)
	f.started, f.updated, f.finished = q.readSpan("started"), q.readSpan("updated"), q.readSpan("finished")
	if f.finished != (timeRange{0, web.Forever}) {
		f.finished.from = max(f.finished.from, 1) // unfinished transactions have the time 0, and must not match
	}
	return q
}

// refuseEmpty adds a problem for each parameter that was sent without a value, in the given order, and removes the parameter
// from the query. An empty status, for example, is not taken to mean any status. An empty start_cursor without an end_cursor is
// ignored.
func (q *filterQuery) refuseEmpty(parameters []string) {
	for _, name := range parameters {
		text, sent := q.Sent(name)
		if _, hasEnd := q.Sent("end_cursor"); name == "start_cursor" && !hasEnd {
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

func (q *filterQuery) readAmount(name string, ifAbsent money.Amount) money.Amount {
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

// readSpan reads the two parameters that bound a time. See web.ThroughNow for an upper bound that is equal to now.
func (q *filterQuery) readSpan(field string) timeRange {
	s := timeRange{0, web.Forever}
	if at, ok := q.readTime(field + "_from"); ok {
		s.from = web.RoundUpToMicros(at)
	}
	if at, ok := q.readTime(field + "_to"); ok {
		s.to = web.ThroughNow(ledger.MicrosOf(at), q.now)
	}
	return s
}

// readTime reads a parameter that is an instant or, if it is a bound, may be a day. If the parameter is absent or malformed, ok
// is false.
func (q *filterQuery) readTime(name string) (at time.Time, ok bool) {
	text, sent := q.Sent(name)
	if !sent {
		return at, false
	}
	if at, ok := web.ParseInstant(text); ok {
		return at, true
	}
	isFrom, isTo := strings.HasSuffix(name, "from"), strings.HasSuffix(name, "_to")
	if day, err := time.Parse(time.DateOnly, text); err == nil && (isFrom || isTo) {
		if isTo {
			day = day.Add(24*time.Hour - time.Microsecond) // as an upper bound, a day includes its last microsecond
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
	byUpdate bool // if true, the order is by last update, otherwise by creation
}

// newListQuery reads a request for a page. A cursor is the time at which the previous page ended. It becomes a bound of the
// time by which the list is ordered.
func newListQuery(ctx *fasthttp.RequestCtx, now time.Time, parameters []string) *listQuery {
	q := &listQuery{filterQuery: newFilterQuery(ctx, now, parameters)}
	if at, ok := q.readTime("from"); ok {
		q.started.from = max(q.started.from, web.RoundUpToMicros(at))
	}
	q.limit = q.readLimit()
	q.byUpdate = q.Choice("order_by", "started", "updated") == "updated"
	bounds := q.orderSpan()
	*bounds = bounds.intersect(q.readWindow())
	if at, ok := q.readTime("cursor"); ok {
		bounds.to = min(bounds.to, web.RoundUpToMicros(at)-1)
	}
	q.tightenBounds()
	return q
}

// orderSpan returns the bounds for the time by which the list is ordered.
func (q *listQuery) orderSpan() *timeRange {
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

// readWindow returns the range of times between start_cursor and end_cursor. Either cursor may be the later one. If only one of
// them was sent, it is ignored (specification, "list").
func (q *listQuery) readWindow() timeRange {
	_, hasStart := q.Sent("start_cursor")
	_, hasEnd := q.Sent("end_cursor")
	if !hasStart || !hasEnd {
		return timeRange{0, web.Forever}
	}
	a, _ := q.readTime("start_cursor")
	b, _ := q.readTime("end_cursor")
	if b.Before(a) {
		a, b = b, a
	}
	return timeRange{web.RoundUpToMicros(a), ledger.MicrosOf(b)}
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
