package contracts

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/jsonform"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// screen serves GET /screen. It applies the screening rules to the asset or transaction that the query describes, and stores
// the result. The result of a HEAD request is not stored, because HEAD must not write.
func (h *Handlers) screen(req *web.Request, f *family, _ *contract.Product) error {
	q := web.QueryOf(req.RequestCtx, "subject", "region", "asset_type", "activity", "description", "amount", "currency", "debt_percent", "impure_income_percent")
	input := contract.ScreeningInput{
		Subject: q.Choice("subject", "asset", "transaction"), Region: q.Text("region"), AssetType: q.Text("asset_type"),
		Activity: q.Text("activity"), Description: q.Text("description"), Currency: q.Text("currency"),
		Debt: percentOf(q, "debt_percent"), Impure: percentOf(q, "impure_income_percent"),
	}
	if _, sent := q.Sent("subject"); !sent {
		q.Problems.Add("subject", "subject is required: asset or transaction")
	}
	if _, known := contract.Regions[input.Region]; !schema.IsBlank(input.Region) && !known {
		q.Problems.Add("region", "region is not supported by the chart of accounts")
	}
	if !schema.IsBlank(input.Currency) && !contract.Currencies[money.Currency(input.Currency)] {
		q.Problems.Add("currency", "currency is not one that contracts are made in")
	}
	if text, sent := q.Sent("amount"); sent {
		a, err := money.Parse(text)
		if err != nil || a.IsZero() || ledger.MaxAmount.Less(a) {
			q.Problems.Add("amount", "amount must be minor units, above zero")
		}
		input.Amount, input.HasAmount = a, true
	}
	key, err := h.keys.StaffQuery(req)
	if err != nil {
		return err
	}
	if err := q.Problems.Err(); err != nil {
		return err
	}
	if req.Request.Header.IsHead() {
		found := contract.NewScreening(ledger.ID{}, input, ledger.MicrosOf(h.cfg.Clock.Now()))
		writeScreening(req, &found, false)
		return nil
	}
	found, err := h.cfg.Contracts.Screen(req.Principal.Org, input, key, req.Author())
	if err != nil {
		return err
	}
	if found.Replay {
		web.MarkReplayed(req)
	}
	writeScreening(req, &found.Screening, false)
	return nil
}

// readScreening serves GET /screen/{id}, which returns the input and the result of a screening.
func (h *Handlers) readScreening(req *web.Request, _ *family, _ *contract.Product) error {
	id, err := web.ParseID(req.Parameter("id"))
	if err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	found, exists, err := contractactor.FindScreening(view, req.Principal.Org, id)
	if err != nil {
		return err
	}
	if !exists {
		return web.NotFound()
	}
	writeScreening(req, &found.Screening, true)
	return nil
}

func writeScreening(req *web.Request, found *contract.Screening, withInput bool) {
	web.WriteOne(req, fiber.StatusOK, false, found, func(e *schema.Encoder, found *contract.Screening) { jsonform.AppendScreening(e, found, withInput) })
}

// percentOf checks that a parameter is a percentage, which may have decimals. It returns the parameter's text unchanged.
func percentOf(q *web.Query, name string) string {
	text := q.Text(name)
	if text == "" {
		return ""
	}
	integer, fraction, decimal := strings.Cut(text, ".")
	if _, err := money.Parse(integer); err != nil || len(text) > 16 || decimal && (fraction == "" || strings.Trim(fraction, "0123456789") != "") {
		q.Problems.Add(name, name+" must be a number of percent")
		return ""
	}
	return text
}
