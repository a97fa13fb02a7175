package api

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// religiousPath begins the addresses of the religious reading.
const religiousPath = "/api/v1/baas/islamic-banking"

var religiousFamily = &family{
	reading: contract.Religious, module: directory.IslamicFinance, bank: true, style: style{bare: true, named: true},
}

// religiousRoutes are the operator's address family: one for all product types.
func (h *Server) religiousRoutes() []route {
	if h.cfg.Contracts == nil {
		return nil
	}
	const get, post = fiber.MethodGet, fiber.MethodPost
	f := religiousFamily
	gated := func(method, path string, command bool, do func(*Server, *call, *family, *contract.Product) error) route {
		return route{method: method, path: religiousPath + path, access: session, roles: contractors, family: f, command: command, handle: f.handler(do, nil)}
	}
	typed := func(do func(*Server, *call, *family, *contract.Product) error) func(*Server, *call, *family, *contract.Product) error {
		return func(h *Server, req *call, f *family, _ *contract.Product) error {
			product := contract.Find(f.reading, req.parameter("product_type"))
			if product == nil {
				return ledger.Refuse("api.contracts", badRequest, "there is no such product_type")
			}
			return do(h, req, f, product)
		}
	}
	return []route{
		gated(get, "/stats", false, (*Server).contractStats),
		gated(get, "/regions", false, (*Server).contractRegions),
		gated(get, "/charity", false, (*Server).charity),
		gated(get, "/screen", true, (*Server).screen), // it stores what it found
		gated(get, "/screen/:id", false, (*Server).readScreening),
		gated(get, "/:product_type", false, typed((*Server).pageOfContracts)),
		gated(post, "/:product_type", true, typed((*Server).createContract)),
		gated(get, "/:product_type/:id", false, typed((*Server).readContract)),
		gated(get, "/:product_type/:id/review", false, typed((*Server).contractReview)),
		gated(get, "/:product_type/:id/entries", false, typed((*Server).contractEntries)),
		gated(get, "/:product_type/:id/subscriptions", false, typed((*Server).contractSubscriptions)),
		gated(get, "/:product_type/:id/holders", false, typed((*Server).contractHolders)),
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
func (h *Server) pageOfContracts(req *call, f *family, product *contract.Product) error {
	q := queryOf(req.RequestCtx, "page", "per_page", "env")
	page, size, envs := q.number("page", 1, maxPage), q.number("per_page", perPage, maxPerPage), q.envs()
	if err := q.problems.err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	want := contractPage{org: req.who.Org, product: product, reading: f.reading, skip: uint64(page-1) * uint64(size), n: size, near: passedOver}
	found, err := want.find(view, envs)
	if err != nil {
		return err
	}
	e := encoder{make([]byte, 0, 8<<10)}
	e.open('{')
	e.enter("data", '[')
	for i := range found {
		e.open('{')
		f.style.appendContract(&e, req.who.Org, &found[i], false)
		e.close('}')
	}
	e.close(']')
	e.enter("meta", '{')
	e.integer("total", int64(want.total))
	e.text("product_type", product.Variants[f.reading].Name)
	e.integer("page", int64(page))
	e.integer("per_page", int64(size))
	e.close('}')
	e.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// contractStats is GET /stats: how many contracts there are of each type.
func (h *Server) contractStats(req *call, f *family, _ *contract.Product) error {
	q := queryOf(req.RequestCtx, "env")
	envs := q.envs()
	if err := q.problems.err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	var e encoder
	e.open('{')
	e.enter("data", '{')
	e.enter("products", '[')
	total := uint64(0)
	for _, p := range contract.Products {
		variant := p.Variants[f.reading]
		if variant == nil {
			continue
		}
		n, err := contractactor.Count(view, req.who.Org, p, f.reading, envs...)
		if err != nil {
			return err
		}
		total += n
		e.open('{')
		e.text("product_type", variant.Name)
		e.integer("count", int64(n))
		e.close('}')
	}
	e.close(']')
	e.integer("total", int64(total))
	e.close('}')
	e.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// contractRegions is GET /regions: those in which the organization works.
func (h *Server) contractRegions(req *call, f *family, _ *contract.Product) error {
	if err := queryOf(req.RequestCtx).problems.err(); err != nil {
		return err
	}
	var types, dual []string
	for _, p := range contract.Products {
		if variant := p.Variants[f.reading]; variant != nil {
			types = append(types, variant.Name)
		}
	}
	var e encoder
	e.open('{')
	e.enter("data", '{')
	e.enter("regions", '[')
	o, known := h.cfg.Directory.Organization(req.who.Org)
	for _, region := range contract.AllRegions() {
		if !known || !o.Allows(region.Code) {
			continue
		}
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
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}
