package api

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

var religiousFamily = &family{
	reading: contract.Religious, module: directory.IslamicFinance, bank: true, style: style{bare: true, named: true},
}

// Bounds of a page in the religious family.
const (
	perPage    = 50
	maxPerPage = 200
	maxPage    = 1_000_000
)

// number is a whole number of at least one; not sent: another one.
func wholeNumber(q *query, name string, absent, most int) int {
	said, sent := q.sent(name)
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
func envsOf(q *query) []money.Env {
	if _, sent := q.sent("env"); sent {
		return []money.Env{q.env()}
	}
	return []money.Env{money.Prod, money.Test}
}

// pageOfContracts is GET /{product_type}: newest first, by page.
func (h *contractsHandlers) pageOfContracts(req *Request, f *family, product *contract.Product) error {
	q := queryOf(req.RequestCtx, "page", "per_page", "env")
	page, size, envs := wholeNumber(q, "page", 1, maxPage), wholeNumber(q, "per_page", perPage, maxPerPage), envsOf(q)
	if err := q.problems.err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	want := Page{Org: req.Principal.Org, Product: product, Reading: f.reading, Skip: uint64(page-1) * uint64(size), Limit: size, Near: passedOver}
	found, err := want.Find(view, envs)
	if err != nil {
		return err
	}
	e := encoder{make([]byte, 0, 8<<10)}
	e.open('{')
	e.enter("data", '[')
	for i := range found {
		e.open('{')
		f.style.appendContract(&e, req.Principal.Org, &found[i], false)
		e.close('}')
	}
	e.close(']')
	e.enter("meta", '{')
	e.integer("total", int64(want.Total))
	e.text("product_type", product.Variants[f.reading].Name)
	e.integer("page", int64(page))
	e.integer("per_page", int64(size))
	e.close('}')
	e.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
	return nil
}

// contractStats is GET /stats: how many contracts there are of each type.
func (h *contractsHandlers) contractStats(req *Request, f *family, _ *contract.Product) error {
	q := queryOf(req.RequestCtx, "env")
	envs := envsOf(q)
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
		n, err := contractactor.Count(view, req.Principal.Org, p, f.reading, envs...)
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
func (h *contractsHandlers) contractRegions(req *Request, f *family, _ *contract.Product) error {
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
	o, known := h.cfg.Organizations.Organization(req.Principal.Org)
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
