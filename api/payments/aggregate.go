package payments

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
	"mizan/posting"
)

// maxGroups bounds the rows of an aggregate.
const maxGroups = 10_000

var aggregateParameters = slices.Concat(filterParameters, []string{"currency", "group_by"})

// aggregateQuery is a request for sums. Sums are always separate for each currency, network and
// env.
type aggregateQuery struct {
	*filterQuery
	byDay, byType, byStatus bool
}

func newAggregateQuery(ctx *fasthttp.RequestCtx, now time.Time) *aggregateQuery {
	q := &aggregateQuery{filterQuery: newFilterQuery(ctx, now, aggregateParameters)}
	q.currency = acceptedCurrency(q.Query)
	q.readGrouping()
	q.narrow()
	return q
}

func (q *aggregateQuery) readGrouping() {
	text, sent := q.Sent("group_by")
	if !sent {
		text = "type,status"
	}
	for name := range strings.SplitSeq(text, ",") {
		by := map[string]*bool{"type": &q.byType, "status": &q.byStatus, "day": &q.byDay}[name]
		if by == nil || *by {
			q.Problems.Add("group_by", "group_by must be a list of type, status, day, each at most once")
			return
		}
		*by = true
	}
}

// group holds the values that the transactions of one row share. A value by which the request
// does not group is zero.
type group struct {
	currency money.Currency
	network  money.Network
	day      ledger.Date // UTC day of started
	kind     payment.Type
	status   payment.Status
}

func (g group) compare(o group) int {
	return cmp.Or(
		cmp.Compare(g.currency, o.currency), cmp.Compare(g.network, o.network),
		cmp.Compare(g.day, o.day), cmp.Compare(g.kind, o.kind), cmp.Compare(g.status, o.status),
	)
}

// sums are the sums of one row.
type sums struct {
	count                          int64
	amount, withFee, fee, refunded money.Amount
	merchant                       money.Signed // signed, because a fee above the amount makes it negative
}

// add adds a transaction. The error is an overflow of a sum.
func (s *sums) add(r *payment.Record) (err error) {
	s.count++
	for _, a := range [...]struct {
		sum  *money.Amount
		more money.Amount
	}{{&s.amount, r.Amount}, {&s.withFee, r.AmountWithFee}, {&s.fee, r.Fee}, {&s.refunded, r.Refunded}} {
		if *a.sum, err = a.sum.Add(a.more); err != nil {
			return err
		}
	}
	s.merchant, err = s.merchant.Add(r.Merchant)
	return err
}

// aggregate is an aggregate while it is computed.
type aggregate struct {
	walk
	query   *aggregateQuery
	partner int64
	groups  map[group]*sums
	budget  *runBudget
}

// add adds a transaction. Sums can't overflow with amounts that creates accept; if one does,
// the request is refused, because the response would be wrong.
func (a *aggregate) add(r *payment.Record, s *posting.Stamp) error {
	q := a.query
	g := group{currency: r.Asset.Currency, network: r.Asset.Network}
	if q.byDay {
		g.day = s.Started.Date()
	}
	if q.byType {
		g.kind = r.Type
	}
	if q.byStatus {
		g.status = r.Status
	}
	sum := a.groups[g]
	if sum == nil {
		if len(a.groups) == maxGroups {
			return ledger.RefuseField("payments.aggregate", "group_by", "there are too many groups: ask for a shorter time, or group by less")
		}
		sum = new(sums)
		a.groups[g] = sum
	}
	if err := sum.add(r); err != nil {
		return ledger.RefuseField("payments.aggregate", "amount", "the sums are out of range: ask for less")
	}
	return nil
}

// write responds with the rows, ordered by the values of their groups.
func (a *aggregate) write(req *web.Request, asOf ledger.Micros) {
	var e schema.Encoder
	e.Open('{')
	e.OpenField("data", '[')
	for _, g := range slices.SortedFunc(maps.Keys(a.groups), group.compare) {
		a.writeRow(&e, g, a.groups[g])
	}
	e.Close(']')
	e.OpenField("meta", '{')
	e.Instant("as_of", asOf)
	e.Close('}')
	e.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, e.Buf)
}

func (a *aggregate) writeRow(e *schema.Encoder, g group, s *sums) {
	e.Open('{')
	e.Word("currency", string(g.currency))
	e.Text("network", string(g.network))
	e.Word("env", a.query.transactionFilter.env.String())
	if a.query.byDay {
		e.Word("day", g.day.String())
	}
	if a.query.byType {
		e.Word("type", g.kind.String())
	}
	if a.query.byStatus {
		e.Text("status", string(g.status))
	}
	e.Integer("count", s.count)
	e.Amount("amount", s.amount)
	e.Amount("amount_with_fee", s.withFee)
	e.Signed("merchant_amount", s.merchant)
	e.Amount("fee_amount", s.fee)
	e.Amount("refunded_amount", s.refunded)
	e.Close('}')
}
