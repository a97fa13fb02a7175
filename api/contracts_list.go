package api

import (
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/posting"
)

// Bounds of a page of contracts.
const (
	contractLimit    = 50
	maxContractLimit = 200
	maxContractsRead = 400 // for one page; one that finds less says where it stopped
	maxEndingIn      = 36_500
)

// contractQuery is what a list of contracts looks for.
type contractQuery struct {
	org      ledger.ID
	product  *contract.Product
	reading  *contract.Reading
	list     posting.List
	person   *ledger.ID // whose part in it is asked for
	status   contract.Status
	region   string
	kind     string
	env      money.Env   // 0: both
	arrears  *bool       // nil: either way
	endsBy   ledger.Date // 0: whenever
	before   ledger.Micros
	limit    int
	customer bool // person is the customer
}

// listContracts is GET /pfp/{product}.
func (s *Server) listContracts(c *call, f *family, product *contract.Product) error {
	known := []string{"status", "region", "type", "env", "limit", "cursor"}
	known = append(known, filtersOf(product)...)
	q := queryOf(c.RequestCtx, known...)
	want := s.contractQueryOf(c, q, f, product)
	if err := q.problems.err(); err != nil {
		return err
	}
	view := s.cfg.Journal.View()
	defer view.Close()
	found, next, err := want.find(view)
	if err != nil {
		return err
	}
	l := newList()
	for i := range found {
		l.row()
		f.style.appendContract(&l.encoder, c.who.Org, &found[i], false)
		l.close('}')
	}
	cursor := ""
	if next != 0 {
		cursor = next.Time().Format(instantLayout)
	}
	writeJSON(c.RequestCtx, fiber.StatusOK, l.finish("inserted_at", cursor))
	return nil
}

// filtersOf are the filters that a product has beside those of all.
func filtersOf(p *contract.Product) (names []string) {
	if p.Customer != "" {
		names = append(names, "customer_id")
	}
	if p.Reads != nil {
		names = append(names, "investor_id")
	}
	if p.Arrears != nil {
		names = append(names, "arrears")
	}
	if p.Ends != nil {
		names = append(names, "ending_in_days")
	}
	return names
}

func (s *Server) contractQueryOf(c *call, q *query, f *family, p *contract.Product) *contractQuery {
	want := &contractQuery{
		org: c.who.Org, product: p, reading: f.reading, list: contractactor.ListOf(p, f.reading),
		status: contract.Status(q.oneOf("status", p.States)), region: q.text("region"), kind: q.text("type"), limit: q.upToLimit(contractLimit, maxContractLimit),
	}
	if _, sent := q.values["env"]; sent || p.ShortLists {
		want.env = q.env()
		want.list = contractactor.ListOfEnv(p, f.reading, want.env)
	}
	q.notBlank("region", "type")
	if words := p.Types(); want.kind != "" && len(words) > 0 && !slices.Contains(words, want.kind) {
		q.problems.add("type", "type must be one of "+strings.Join(words, ", "))
	}
	if _, known := contract.Regions[want.region]; want.region != "" && !known {
		q.problems.add("region", "region is not supported by the chart of accounts")
	}
	for _, name := range []string{"customer_id", "investor_id"} { // no product has both; fewer are somebody's than an environment's
		if who, sent := q.id(name); sent {
			want.person, want.customer = &who, name == "customer_id"
			want.list = contractactor.ListOfPerson(p, f.reading, who)
		}
	}
	if _, sent := q.values["arrears"]; sent {
		late := q.choice("arrears", "false", "true") == "true"
		want.arrears = &late
	}
	if said, sent := q.values["ending_in_days"]; sent {
		n, err := strconv.Atoi(said)
		if err != nil || n < 0 || n > maxEndingIn || strconv.Itoa(n) != said {
			q.problems.add("ending_in_days", "ending_in_days must be an integer from 0 to "+strconv.Itoa(maxEndingIn))
		}
		want.endsBy = ledger.DateOf(s.cfg.Clock.Now()) + ledger.Date(n)
	}
	if said, sent := q.values["cursor"]; sent {
		at, isInstant := parseInstant(said)
		if !isInstant {
			q.badCursor()
		}
		want.before = max(1, ceiling(at)) // 0 would be the newest
	}
	return want
}

// find is a page of contracts, newest first, and the instant before which the next
// page begins; 0: there is none.
func (q *contractQuery) find(view *posting.View) (found []contractactor.Result, next ledger.Micros, err error) {
	read, past := 0, ledger.Micros(0)
	err = view.List(q.org, q.list, posting.Walk{Before: q.before}, func(row posting.Listed) (bool, error) {
		if read == maxContractsRead {
			next = past
			return false, nil
		}
		read++
		r, there, err := contractactor.Load(view, q.org, row.ID)
		if err != nil || !there {
			return err == nil, err
		}
		wanted := q.wants(&r)
		if wanted && q.person != nil && !q.customer {
			_, wanted, err = contractactor.Position(view, q.org, row.ID, *q.person)
			if err != nil {
				return false, err
			}
		}
		if wanted {
			if len(found) == q.limit {
				next = past
				return false, nil
			}
			found = append(found, r)
		}
		past = row.Booked
		return true, nil
	})
	return found, next, err
}

// wants tells whether a contract is looked for, but for who holds something of it.
func (q *contractQuery) wants(r *contractactor.Result) bool {
	c := r.Record
	switch {
	case c.Product != q.product || c.Reading != q.reading:
		return false
	case q.status != "" && c.Status != q.status, q.env != 0 && c.Asset.Env != q.env:
		return false
	case q.region != "" && contract.Region.Of(c.Values) != q.region, q.kind != "" && c.Type() != q.kind:
		return false
	case q.person != nil && q.customer && c.Customer() != *q.person:
		return false
	case q.arrears != nil && c.Product.Arrears(c) != *q.arrears:
		return false
	}
	if q.endsBy != 0 {
		on := c.Product.Ends(c)
		return on != 0 && on <= q.endsBy
	}
	return true
}

// oneOf is one of the words that states are; empty if none was sent.
func (q *query) oneOf(name string, states []contract.Status) string {
	said, sent := q.values[name]
	if sent && !slices.Contains(states, contract.Status(said)) {
		words := make([]string, len(states))
		for i := range states {
			words[i] = string(states[i])
		}
		q.problems.add(name, name+" must be one of "+strings.Join(words, ", "))
	}
	return said
}

// notBlank refuses parameters that were sent and say nothing.
func (q *query) notBlank(names ...string) {
	for _, name := range names {
		if said, sent := q.values[name]; sent && said == "" {
			q.problems.add(name, name+" must not be empty")
		}
	}
}

// contractEntries is GET /pfp/{product}/{id}/entries: what the contract has posted,
// newest first.
func (s *Server) contractEntries(c *call, f *family, product *contract.Product) error {
	result, err := s.contractAt(c, f, product)
	if err != nil {
		return err
	}
	q := queryOf(c.RequestCtx, "limit", "cursor")
	e := eventQuery{entries: true, who: &c.who, env: result.Record.Asset.Env, source: &result.Record.ID, to: forever, before: q.seq(), limit: q.limit()}
	return s.writeEvents(c, q, &e, appendEntry)
}

// contractSchedule is GET /pfp/{product}/{id}/schedule.csv: the rows of what is to be
// paid when, for people. Amounts are minor units.
func (s *Server) contractSchedule(c *call, f *family, product *contract.Product) error {
	result, err := s.contractAt(c, f, product)
	if err != nil {
		return err
	}
	if product.Schedule == nil {
		return notFound()
	}
	out := new(csvBuffer)
	w := csv.NewWriter(out)
	table := product.Schedule.Of
	header := make([]string, len(table.Columns))
	for i, column := range table.Columns {
		header[i] = column.Name
	}
	_ = w.Write(header) // a buffer never fails
	rows, _ := product.Schedule.Value(result.Record.Values).([]schema.Row)
	for _, row := range rows {
		for i, column := range table.Columns {
			header[i] = contract.Plain(column.Value(row))
		}
		_ = w.Write(header)
	}
	w.Flush()
	h := &c.Response.Header
	writeJSON(c.RequestCtx, fiber.StatusOK, out.bytes)
	h.SetContentType("text/csv; charset=utf-8")
	h.Set(fiber.HeaderContentDisposition, `attachment; filename="`+result.Record.Number(result.Stamp.Started, result.Stamp.Number)+`.csv"`)
	return nil
}

type csvBuffer struct{ bytes []byte }

// Write implements io.Writer.
func (b *csvBuffer) Write(p []byte) (int, error) {
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}
