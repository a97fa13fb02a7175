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
	"mizan/posting"
)

// maxRows is the maximum number of rows in an aggregate. An aggregate is the response to GET /transactions/aggregate. It
// has a row for each group of a partner's transactions, with their number and sums.
const maxRows = 10_000

var aggregateParameters = slices.Concat(filterParameters, []string{"currency", "group_by"})

// aggregateQuery is a request for sums of transactions. Each currency, network and env always has separate sums.
type aggregateQuery struct {
	*filterQuery
	byDay, byType, byStatus bool
}

func newAggregateQuery(ctx *fasthttp.RequestCtx, now time.Time) *aggregateQuery {
	q := &aggregateQuery{filterQuery: newFilterQuery(ctx, now, aggregateParameters)}
	q.currency = acceptedCurrency(q.Query)
	q.readGrouping()
	q.tightenBounds()
	return q
}

func (q *aggregateQuery) readGrouping() {
	text, sent := q.Sent("group_by")
	if !sent {
		text = "type,status"
	}
	for name := range strings.SplitSeq(text, ",") {
		isGrouped := map[string]*bool{"type": &q.byType, "status": &q.byStatus, "day": &q.byDay}[name]
		if isGrouped == nil || *isGrouped {
			q.Problems.Add("group_by", "group_by must be a list of type, status, day, each at most once")
			return
		}
		*isGrouped = true
	}
}

// aggregateKey holds the values that all transactions of a row have in common. If the request does not group by a value,
// the value is zero.
type aggregateKey struct {
	currency money.Currency
	network  money.Network
	day      ledger.Date // UTC day on which the transactions started
	kind     payment.Type
	status   payment.Status
}

func (k aggregateKey) compare(o aggregateKey) int {
	return cmp.Or(
		cmp.Compare(k.currency, o.currency), cmp.Compare(k.network, o.network),
		cmp.Compare(k.day, o.day), cmp.Compare(k.kind, o.kind), cmp.Compare(k.status, o.status),
	)
}

// sums is the number of a row's transactions, and the sums of their amounts.
type sums struct {
	count                          int64
	amount, withFee, fee, refunded money.Amount
	merchant                       money.Signed // signed, because it is negative if fees exceed amounts
}

// add adds a transaction. It returns an error if a sum overflows.
func (s *sums) add(r *payment.Record) (err error) {
	s.count++
	for _, a := range [...]struct {
		sum    *money.Amount
		addend money.Amount
	}{{&s.amount, r.Amount}, {&s.withFee, r.AmountWithFee}, {&s.fee, r.Fee}, {&s.refunded, r.RefundedAmount}} {
		if *a.sum, err = a.sum.Add(a.addend); err != nil {
			return err
		}
	}
	s.merchant, err = s.merchant.Add(r.MerchantAmount)
	return err
}

// aggregate computes the rows of one response.
type aggregate struct {
	listWalk // reads the rows of the partner's transaction list
	query    *aggregateQuery
	partner  int64
	groups   map[aggregateKey]*sums
	budget   *runBudget
}

// add adds a transaction. Amounts are bounded when they are accepted, so sums can't overflow. If a sum overflows
// nevertheless, the request is refused, because the response would be wrong.
func (a *aggregate) add(r *payment.Record, header *posting.RecordHeader) error {
	q := a.query
	k := aggregateKey{currency: r.Asset.Currency, network: r.Asset.Network}
	if q.byDay {
		k.day = header.StartedAt.Date()
	}
	if q.byType {
		k.kind = r.Type
	}
	if q.byStatus {
		k.status = r.Status
	}
	sum := a.groups[k]
	if sum == nil {
		if len(a.groups) == maxRows {
			return ledger.RefuseField("payments.aggregate", "group_by", "there are too many groups: ask for a shorter time, or group by less")
		}
		sum = new(sums)
		a.groups[k] = sum
	}
	if err := sum.add(r); err != nil {
		return ledger.RefuseField("payments.aggregate", "amount", "the sums are out of range: ask for less")
	}
	return nil
}

// write responds with the rows, ordered by the values of their groups.
func (a *aggregate) write(req *web.Request, asOf ledger.Micros) {
	response := aggregateJSON{Meta: aggregateMeta{web.Instant(asOf)}}
	for _, k := range slices.SortedFunc(maps.Keys(a.groups), aggregateKey.compare) {
		response.Data = append(response.Data, a.rowOf(k, a.groups[k]))
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, web.Marshal(response))
}

type aggregateJSON struct {
	Data []aggregateRow `json:"data"`
	Meta aggregateMeta  `json:"meta"`
}

type aggregateMeta struct {
	AsOf web.Instant `json:"as_of"` // time of the organization's newest event
}

// aggregateRow is a row of the response: the values by which the request groups, and the sums.
type aggregateRow struct {
	Currency money.Currency `json:"currency"`
	Network  money.Network  `json:"network"`
	Env      string         `json:"env"`
	Day      string         `json:"day,omitzero"`
	Type     string         `json:"type,omitzero"`
	Status   *string        `json:"status,omitzero"`
	Count    int64          `json:"count"`
	Amount   money.Amount   `json:"amount"`
	WithFee  money.Amount   `json:"amount_with_fee"`
	Merchant money.Signed   `json:"merchant_amount"`
	Fee      money.Amount   `json:"fee_amount"`
	Refunded money.Amount   `json:"refunded_amount"`
}

func (a *aggregate) rowOf(k aggregateKey, s *sums) aggregateRow {
	r := aggregateRow{
		Currency: k.currency, Network: k.network, Env: a.query.transactionFilter.env.String(),
		Count: s.count, Amount: s.amount, WithFee: s.withFee, Merchant: s.merchant, Fee: s.fee, Refunded: s.refunded,
	}
	if a.query.byDay {
		r.Day = k.day.String()
	}
	if a.query.byType {
		r.Type = k.kind.String()
	}
	if status := string(k.status); a.query.byStatus {
		r.Status = &status
	}
	return r
}
