package contracts

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/api/web"
	"mizan/api/web/journal"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Limits of a page of contracts.
const (
	contractLimit    = 50
	maxContractLimit = 200
	maxContractsRead = 400    // contracts that are read for one page; at this number the page ends, with a cursor to continue
	maxEndingIn      = 36_500 // days
)

// contractQuery has the conditions that contracts must meet to be in a list.
type contractQuery struct {
	org      ledger.ID
	product  *contract.Product
	reading  *contract.Reading
	list     ledger.List
	person   *ledger.ID // nil, or a person who must be a party to the contract
	status   contract.Status
	waiting  bool // true: only contracts that wait for a review
	region   string
	kind     string
	env      money.Env   // 0: both environments
	arrears  *bool       // true: only contracts in arrears; false: only others; nil: all
	endsBy   ledger.Date // the contract must end by this date; 0 if it may end at any time
	before   ledger.Micros
	limit    int
	customer bool // true: person must be the customer; false: person must hold certificates
}

// listContracts serves GET /pfp/{product}.
func (h *Handlers) listContracts(req *web.Request, f *family, product *contract.Product) error {
	known := []string{"status", "region", "type", "env", "limit", "cursor"}
	known = append(known, filtersOf(product)...)
	q := web.QueryOf(req.RequestCtx, known...)
	query := h.contractQueryOf(req, q, f, product)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	found, next, err := query.find(view)
	if err != nil {
		return err
	}
	l := web.NewList()
	for i := range found {
		l.BeginRow()
		appendListed(&l.Encoder, req.Principal.Org, &found[i])
		l.Close('}')
	}
	cursor := ""
	if next != 0 {
		cursor = next.Time().Format(schema.InstantLayout)
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("inserted_at", cursor))
	return nil
}

// filtersOf returns the names of the product's additional filters. The other filters are common to all products.
func filtersOf(p *contract.Product) (names []string) {
	if p.Customer != "" {
		names = append(names, "customer_id")
	}
	if p.RegisterQuery != nil {
		names = append(names, "investor_id")
	}
	if p.Arrears != nil {
		names = append(names, "arrears")
	}
	if p.EndDate != nil {
		names = append(names, "ending_in_days")
	}
	return names
}

func (h *Handlers) contractQueryOf(req *web.Request, q *web.Query, f *family, p *contract.Product) *contractQuery {
	query := &contractQuery{
		org: req.Principal.Org, product: p, reading: f.reading, list: contractactor.ListOf(p, f.reading),
		status: contract.Status(oneOf(q, "status", p.States)), region: q.Text("region"), kind: q.Text("type"), limit: q.LimitUpTo(contractLimit, maxContractLimit),
	}
	if _, sent := q.Sent("env"); sent || p.ShortLists { // ShortLists: a list shows one environment, by default prod
		query.env = q.Env()
		query.list = contractactor.ListOfEnv(p, f.reading, query.env)
	}
	notBlank(q, "region", "type")
	if words := p.Types(); query.kind != "" && len(words) > 0 && !slices.Contains(words, query.kind) {
		q.Problems.Add("type", "type must be one of "+strings.Join(words, ", "))
	}
	if _, known := contract.Regions[query.region]; query.region != "" && !known {
		q.Problems.Add("region", "region is not supported by the chart of accounts")
	}
	// A product has at most one of these parameters. The list of a person's contracts is read instead of the list of an
	// environment, because it is shorter.
	for _, name := range []string{"customer_id", "investor_id"} {
		if who, sent := q.ID(name); sent {
			query.person, query.customer = &who, name == "customer_id"
			query.list = contractactor.ListOfPerson(p, f.reading, who)
		}
	}
	if _, sent := q.Sent("arrears"); sent {
		inArrears := q.Choice("arrears", "false", "true") == "true"
		query.arrears = &inArrears
	}
	if text, sent := q.Sent("ending_in_days"); sent {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxEndingIn || strconv.Itoa(n) != text {
			q.Problems.Add("ending_in_days", "ending_in_days must be an integer from 0 to "+strconv.Itoa(maxEndingIn))
		}
		query.endsBy = ledger.DateOf(h.cfg.Clock.Now()) + ledger.Date(n)
	}
	query.before = instantCursor(q)
	return query
}

// instantCursor reads a cursor that is an instant. It returns 0 for the first page, which has no cursor.
func instantCursor(q *web.Query) ledger.Micros {
	text, sent := q.Sent("cursor")
	if !sent {
		return 0
	}
	at, isInstant := web.ParseInstant(text)
	if !isInstant {
		q.RefuseCursor()
	}
	return max(1, web.RoundUpToMicros(at))
}

// find returns a page of contracts, newest first, and the cursor of the next page. The cursor is an instant, and the next page
// has the contracts that were booked before it. On the last page the cursor is 0.
func (q *contractQuery) find(view *posting.View) (found []contractactor.Result, next ledger.Micros, err error) {
	read, lastBooked := 0, ledger.Micros(0)
	err = view.List(q.org, q.list, posting.ListRange{Before: q.before}, func(row posting.ListRow) (bool, error) {
		if read == maxContractsRead {
			next = lastBooked
			return false, nil
		}
		read++
		r, exists, err := contractactor.Load(view, q.org, row.ID)
		if err != nil || !exists {
			return err == nil, err
		}
		matched := q.matches(&r)
		if matched && q.person != nil && !q.customer {
			_, matched, err = contractactor.Position(view, q.org, row.ID, *q.person)
			if err != nil {
				return false, err
			}
		}
		if matched {
			if len(found) == q.limit {
				next = lastBooked
				return false, nil
			}
			found = append(found, r)
		}
		lastBooked = row.Booked
		return true, nil
	})
	return found, next, err
}

// matches tells whether a contract meets the conditions of the query. It does not check whether the person holds certificates
// of the contract: find checks that in the register of holders.
func (q *contractQuery) matches(r *contractactor.Result) bool {
	c := r.Record
	switch {
	case c.Product != q.product || c.Reading != q.reading:
		return false
	case q.status != "" && c.Status != q.status, q.env != 0 && c.Asset.Env != q.env:
		return false
	case q.waiting && !c.AwaitsReview():
		return false
	case q.region != "" && contract.Region.Get(c.Values) != q.region, q.kind != "" && c.Type() != q.kind:
		return false
	case q.person != nil && q.customer && c.Customer() != *q.person:
		return false
	case q.arrears != nil && c.Product.Arrears(c) != *q.arrears:
		return false
	}
	if q.endsBy != 0 {
		endDate := c.Product.EndDate(c)
		return endDate != 0 && endDate <= q.endsBy
	}
	return true
}

// oneOf reads a parameter whose value must be one of the states. The result is empty if the parameter was not sent.
func oneOf(q *web.Query, name string, states []contract.Status) string {
	text, sent := q.Sent(name)
	if sent && !slices.Contains(states, contract.Status(text)) {
		words := make([]string, len(states))
		for i := range states {
			words[i] = string(states[i])
		}
		q.Problems.Add(name, name+" must be one of "+strings.Join(words, ", "))
	}
	return text
}

// notBlank refuses parameters that were sent with an empty value.
func notBlank(q *web.Query, names ...string) {
	for _, name := range names {
		if text, sent := q.Sent(name); sent && text == "" {
			q.Problems.Add(name, name+" must not be empty")
		}
	}
}

// listEntries serves GET /pfp/{product}/{id}/entries, which lists the contract's entries, newest first.
func (h *Handlers) listEntries(req *web.Request, f *family, product *contract.Product) error {
	return h.writeHistory(req, f, product, true, (*journal.Row).AppendEntry)
}

// listEvents serves GET /pfp/{product}/{id}/events, which lists the contract's events, newest first.
func (h *Handlers) listEvents(req *web.Request, f *family, product *contract.Product) error {
	return h.writeHistory(req, f, product, false, (*journal.Row).AppendEvent)
}

func (h *Handlers) writeHistory(req *web.Request, f *family, product *contract.Product, entries bool, write func(*journal.Row, *schema.Encoder)) error {
	result, err := h.contractAt(req, f, product)
	if err != nil {
		return err
	}
	q := web.QueryOf(req.RequestCtx, "limit", "cursor")
	e := journal.EventQuery{Entries: entries, Caller: &req.Principal, Source: &result.Record.ID, To: web.Forever, Before: q.SeqCursor(), Limit: q.Limit()}
	return journal.WritePage(req, h.cfg.Journal, h.cfg.Organizations, q, &e, write)
}

// writeSchedule serves GET /pfp/{product}/{id}/schedule.csv, which returns the rows of the payment schedule as CSV. Amounts are
// in minor units.
func (h *Handlers) writeSchedule(req *web.Request, f *family, product *contract.Product) error {
	result, err := h.contractAt(req, f, product)
	if err != nil {
		return err
	}
	if product.Schedule == nil {
		return web.NotFound()
	}
	out := new(csvBuffer)
	w := csv.NewWriter(out)
	table := product.Schedule.Nested
	header := make([]string, len(table.Columns))
	for i, column := range table.Columns {
		header[i] = column.Name
	}
	_ = w.Write(header) // writing to a buffer never fails
	rows, _ := product.Schedule.Value(result.Record.Values).([]schema.Row)
	for _, row := range rows {
		for i, column := range table.Columns {
			header[i] = contract.FormatValue(column.Value(row))
		}
		_ = w.Write(header)
	}
	w.Flush()
	response := &req.Response.Header
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, out.bytes)
	response.SetContentType("text/csv; charset=utf-8")
	response.Set(fiber.HeaderContentDisposition, `attachment; filename="`+result.Record.Number(result.Header.StartedAt, result.Header.Number)+`.csv"`)
	return nil
}

type csvBuffer struct{ bytes []byte }

// Write implements io.Writer.
func (b *csvBuffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}
