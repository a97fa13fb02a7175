package api

import (
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/posting"
)

// religiousPath begins the addresses of the religious reading.
const religiousPath = "/api/v1/baas/islamic-banking"

var religiousFamily = &family{
	reading: contract.Religious, module: directory.IslamicFinance, bank: true, style: style{bare: true, named: true},
}

// religiousRoutes are the operator's address family: one for all product types.
func (s *Server) religiousRoutes() []route {
	if s.cfg.Contracts == nil {
		return nil
	}
	const get, post = fiber.MethodGet, fiber.MethodPost
	f := religiousFamily
	gated := func(method, path string, command bool, do func(*Server, *call, *family, *contract.Product) error) route {
		return route{method: method, path: religiousPath + path, access: session, roles: contractors, command: command, handle: f.handler(do, nil)}
	}
	typed := func(do func(*Server, *call, *family, *contract.Product) error) func(*Server, *call, *family, *contract.Product) error {
		return func(s *Server, c *call, f *family, _ *contract.Product) error {
			product := contract.Find(f.reading, c.parameter("product_type"))
			if product == nil {
				return ledger.Refuse("api.contracts", badRequest, "there is no such product_type")
			}
			return do(s, c, f, product)
		}
	}
	return []route{
		gated(get, "/stats", false, (*Server).contractStats),
		gated(get, "/regions", false, (*Server).contractRegions),
		gated(get, "/screen", true, (*Server).screen), // it stores what it found
		gated(get, "/:product_type", false, typed((*Server).pageOfContracts)),
		gated(post, "/:product_type", true, typed((*Server).createContract)),
		gated(get, "/:product_type/:id", false, typed((*Server).readContract)),
		gated(get, "/:product_type/:id/review", false, typed((*Server).contractReview)),
		gated(get, "/:product_type/:id/entries", false, typed((*Server).contractEntries)),
		gated(get, "/:product_type/:id/schedule.csv", false, typed((*Server).contractSchedule)),
		gated(post, "/:product_type/:id/:action", true, typed((*Server).actOnContract)),
	}
}

// Bounds of a page in the religious family.
const (
	perPage    = 50
	maxPerPage = 200
	maxPage    = 1_000_000
)

// number is a whole number of at least one; not sent: another one.
func (q *query) number(name string, absent, most int) int {
	said, sent := q.values[name]
	if !sent {
		return absent
	}
	n, err := strconv.Atoi(said)
	if err != nil || n < 1 || n > most || strconv.Itoa(n) != said {
		q.problems.add(name, name+" must be an integer from 1 to "+strconv.Itoa(most))
		return absent
	}
	return n
}

// envs are the environments that are asked for: both, where none is named.
func (q *query) envs() []money.Env {
	if _, sent := q.values["env"]; sent {
		return []money.Env{q.env()}
	}
	return []money.Env{money.Prod, money.Test}
}

// pageOfContracts is GET /{product_type}: newest first, by page.
func (s *Server) pageOfContracts(c *call, f *family, product *contract.Product) error {
	q := queryOf(c.RequestCtx, "page", "per_page", "env")
	page, size, envs := q.number("page", 1, maxPage), q.number("per_page", perPage, maxPerPage), q.envs()
	if err := q.problems.err(); err != nil {
		return err
	}
	view := s.cfg.Journal.View()
	defer view.Close()
	total, err := contractactor.Count(view, c.who.Org, product, f.reading, envs...)
	if err != nil {
		return err
	}
	found, err := contractsOn(view, c.who.Org, product, f.reading, envs, (page-1)*size, size)
	if err != nil {
		return err
	}
	e := encoder{make([]byte, 0, 8<<10)}
	e.open('{')
	e.enter("data", '[')
	for i := range found {
		e.open('{')
		f.style.appendContract(&e, c.who.Org, &found[i], false)
		e.close('}')
	}
	e.close(']')
	e.enter("meta", '{')
	e.integer("total", int64(total))
	e.text("product_type", product.Faces[f.reading].Name)
	e.integer("page", int64(page))
	e.integer("per_page", int64(size))
	e.close('}')
	e.close('}')
	writeJSON(c.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// contractsOn are so many contracts behind so many others, newest first. Those of
// both environments are passed over without a look at them.
func contractsOn(view *posting.View, org ledger.ID, p *contract.Product, reading *contract.Reading, envs []money.Env, skip, n int) (found []contractactor.Result, err error) {
	err = view.List(org, contractactor.ListOf(p, reading), posting.Walk{}, func(row posting.Listed) (bool, error) {
		if skip > 0 && len(envs) > 1 {
			skip--
			return true, nil
		}
		r, there, err := contractactor.Load(view, org, row.ID)
		if err != nil || !there {
			return err == nil, err
		}
		if len(envs) == 1 && r.Record.Asset.Env != envs[0] {
			return true, nil
		}
		if skip > 0 {
			skip--
			return true, nil
		}
		found = append(found, r)
		return len(found) < n, nil
	})
	return found, err
}

// contractStats is GET /stats: how many contracts there are of each type.
func (s *Server) contractStats(c *call, f *family, _ *contract.Product) error {
	q := queryOf(c.RequestCtx, "env")
	envs := q.envs()
	if err := q.problems.err(); err != nil {
		return err
	}
	view := s.cfg.Journal.View()
	defer view.Close()
	var e encoder
	e.open('{')
	e.enter("data", '{')
	e.enter("products", '[')
	total := uint64(0)
	for _, p := range contract.Products {
		face := p.Faces[f.reading]
		if face == nil {
			continue
		}
		n, err := contractactor.Count(view, c.who.Org, p, f.reading, envs...)
		if err != nil {
			return err
		}
		total += n
		e.open('{')
		e.text("product_type", face.Name)
		e.integer("count", int64(n))
		e.close('}')
	}
	e.close(']')
	e.integer("total", int64(total))
	e.close('}')
	e.close('}')
	writeJSON(c.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// contractRegions is GET /regions.
func (s *Server) contractRegions(c *call, f *family, _ *contract.Product) error {
	if err := queryOf(c.RequestCtx).problems.err(); err != nil {
		return err
	}
	var types, dual []string
	for _, p := range contract.Products {
		if face := p.Faces[f.reading]; face != nil {
			types = append(types, face.Name)
		}
	}
	var e encoder
	e.open('{')
	e.enter("data", '{')
	e.enter("regions", '[')
	for _, region := range contract.AllRegions() {
		if region.DualBanking {
			dual = append(dual, region.Code)
		}
		e.open('{')
		e.text("code", region.Code)
		e.text("name", region.Name)
		e.texts("currencies", region.Currencies())
		e.texts("product_types", types)
		e.integer("chart_version", contract.ChartVersion)
		e.close('}')
	}
	e.close(']')
	e.texts("dual_banking", dual)
	e.close('}')
	e.close('}')
	writeJSON(c.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// contractReview is GET /{product_type}/{id}/review: who approved what, when, on which
// reference.
func (s *Server) contractReview(c *call, f *family, product *contract.Product) error {
	id, err := parseID(c.parameter("id"))
	if err != nil {
		return err
	}
	result, err := s.cfg.Contracts.Read(c.who.Org, product, f.reading, id)
	if err != nil {
		return err
	}
	r := result.Record
	var e encoder
	e.open('{')
	e.enter("data", '{')
	e.id("id", r.ID)
	e.text("contract_number", r.Number(result.Stamp.Started, result.Stamp.Number))
	e.text("product_type", product.Faces[f.reading].Name)
	e.word("status", string(r.Status))
	if a := contract.Reviewed.Of(r.Values); a.Given() {
		e.word("conclusion", "approved")
		a.Texts(e.text)
		e.instant("reviewed_at", contract.ReviewedAt.Of(r.Values))
	} else if contract.Why.Has(r.Values) {
		e.word("conclusion", "rejected")
		e.text("reason", contract.Why.Of(r.Values))
	} else {
		e.null("conclusion")
	}
	if contract.ScreeningID.Has(r.Values) {
		e.id("screening_id", contract.ScreeningID.Of(r.Values))
	}
	e.close('}')
	e.close('}')
	writeJSON(c.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// screen is GET /screen: the rules applied to what is named in the query.
func (s *Server) screen(c *call, f *family, _ *contract.Product) error {
	q := queryOf(c.RequestCtx, "subject", "region", "asset_type", "activity", "description", "amount", "currency", "debt_percent", "impure_income_percent")
	given := contract.Screened{
		Subject: q.choice("subject", "asset", "transaction"), Region: q.text("region"), AssetType: q.text("asset_type"),
		Activity: q.text("activity"), Description: q.text("description"), Currency: q.text("currency"),
		Debt: q.percent("debt_percent"), Impure: q.percent("impure_income_percent"),
	}
	if _, sent := q.values["subject"]; !sent {
		q.problems.add("subject", "subject is required: asset or transaction")
	}
	if _, known := contract.Regions[given.Region]; given.Region != "" && !known {
		q.problems.add("region", "region is not supported by the chart of accounts")
	}
	if given.Currency != "" && !contract.Currencies[money.Currency(given.Currency)] {
		q.problems.add("currency", "currency is not one that contracts are made in")
	}
	if said, sent := q.values["amount"]; sent {
		a, err := money.Parse(said)
		if err != nil || ledger.MaxAmount.Less(a) {
			q.problems.add("amount", "amount must be minor units")
		}
		given.Amount, given.HasAmount = a, true
	}
	if err := q.problems.err(); err != nil {
		return err
	}
	found, err := s.cfg.Contracts.Screen(c.who.Org, given)
	if err != nil {
		return err
	}
	var e encoder
	e.open('{')
	e.enter("data", '{')
	e.id("screening_id", found.ID)
	e.word("decision", string(found.Decision))
	e.enter("rules", '[')
	for _, finding := range found.Findings {
		e.open('{')
		e.text("code", finding.Code)
		e.word("outcome", string(finding.Outcome))
		e.text("detail", finding.Detail)
		e.close('}')
	}
	e.close(']')
	e.integer("ruleset_version", int64(found.Ruleset))
	e.instant("screened_at", found.At)
	e.close('}')
	e.close('}')
	writeJSON(c.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// percent is a number of percent, whole or decimal, as it was sent.
func (q *query) percent(name string) string {
	said := q.values[name]
	if said == "" {
		return ""
	}
	whole, fraction, decimal := strings.Cut(said, ".")
	if _, err := money.Parse(whole); err != nil || len(said) > 16 || decimal && (fraction == "" || strings.Trim(fraction, "0123456789") != "") {
		q.problems.add(name, name+" must be a number of percent")
		return ""
	}
	return said
}
