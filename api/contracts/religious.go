package contracts

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/api/web"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// religiousFamily is the religious reading, which is the form of the products that religious banks offer.
var religiousFamily = &family{
	reading: contract.Religious, module: directory.IslamicFinance, bank: true,
}

// Limits of the numbered pages of lists in the religious reading.
const (
	perPage    = 50
	maxPerPage = 200
	maxPage    = 1_000_000
)

// wholeNumber reads a parameter that is a number from 1 to maximum. If the parameter was not sent, wholeNumber returns
// ifAbsent.
func wholeNumber(q *web.Query, name string, ifAbsent, maximum int) int {
	text, sent := q.Sent(name)
	if !sent {
		return ifAbsent
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maximum || strconv.Itoa(n) != text {
		q.Problems.Add(name, name+" must be an integer from 1 to "+strconv.Itoa(maximum))
		return ifAbsent
	}
	return n
}

// envsOf returns the environment that the query names, or both environments if it names none.
func envsOf(q *web.Query) []money.Env {
	if _, sent := q.Sent("env"); sent {
		return []money.Env{q.Env()}
	}
	return []money.Env{money.Prod, money.Test}
}

// pageOfContracts serves GET /{product_type}, which returns a numbered page of contracts, newest first.
func (h *Handlers) pageOfContracts(req *web.Request, f *family, product *contract.Product) error {
	q := web.QueryOf(req.RequestCtx, "page", "per_page", "env")
	page, size, envs := wholeNumber(q, "page", 1, maxPage), wholeNumber(q, "per_page", perPage, maxPerPage), envsOf(q)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	want := Page{Org: req.Principal.Org, Product: product, Reading: f.reading, Skip: uint64(page-1) * uint64(size), Limit: size, MaxSkip: maxPassedOver}
	found, err := want.Find(view, envs)
	if err != nil {
		return err
	}
	e := schema.Encoder{Buf: make([]byte, 0, 8<<10)}
	e.Open('{')
	e.OpenField("data", '[')
	for i := range found {
		e.Open('{')
		appendListed(&e, req.Principal.Org, &found[i])
		e.Close('}')
	}
	e.Close(']')
	e.OpenField("meta", '{')
	e.Integer("total", int64(want.Total))
	e.Text("product_type", product.Variants[f.reading].Name)
	e.Integer("page", int64(page))
	e.Integer("per_page", int64(size))
	e.Close('}')
	e.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, e.Buf)
	return nil
}

// statistics has the number of an organization's contracts, in total and for each product.
type statistics struct {
	Products []productCount `json:"products"`
	Total    uint64         `json:"total"`
}

type productCount struct {
	Product string `json:"product_type"`
	Count   uint64 `json:"count"`
}

// stats serves GET /stats, which returns the number of contracts of each product.
func (h *Handlers) stats(req *web.Request, f *family, _ *contract.Product) error {
	q := web.QueryOf(req.RequestCtx, "env")
	envs := envsOf(q)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	var found statistics
	for _, p := range contract.Products {
		variant := p.Variants[f.reading]
		if variant == nil {
			continue
		}
		n, err := contractactor.Count(view, req.Principal.Org, p, f.reading, envs...)
		if err != nil {
			return err
		}
		found.Total += n
		found.Products = append(found.Products, productCount{variant.Name, n})
	}
	web.WriteData(req, fiber.StatusOK, &found)
	return nil
}

// supportedRegions has the regions in which an organization works. Dual has the codes of those regions in which both secular
// and religious banks operate.
type supportedRegions struct {
	Regions []regionResponse `json:"regions"`
	Dual    []string         `json:"dual_banking"`
}

type regionResponse struct {
	Code       string   `json:"code"`
	Name       string   `json:"name"`
	Currencies []string `json:"currencies"`
	Products   []string `json:"product_types"`
	Chart      int      `json:"chart_version"`
}

// regions serves GET /regions, which returns the regions in which the organization works.
func (h *Handlers) regions(req *web.Request, f *family, _ *contract.Product) error {
	if err := web.QueryOf(req.RequestCtx).Problems.Err(); err != nil {
		return err
	}
	var types []string
	for _, p := range contract.Products {
		if variant := p.Variants[f.reading]; variant != nil {
			types = append(types, variant.Name)
		}
	}
	var found supportedRegions
	o, known := h.cfg.Organizations.Organization(req.Principal.Org)
	for _, region := range contract.AllRegions() {
		if !known || !o.AllowsRegion(region.Code) {
			continue
		}
		if region.DualBanking {
			found.Dual = append(found.Dual, region.Code)
		}
		found.Regions = append(found.Regions, regionResponse{region.Code, region.Name, region.Currencies(), types, contract.ChartVersion})
	}
	web.WriteData(req, fiber.StatusOK, &found)
	return nil
}
