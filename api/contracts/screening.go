package contracts

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// screen is GET /screen: it applies the rules to the query and stores the result. HEAD stores
// nothing, because it must not write.
func (h *Handlers) screen(req *web.Request, f *family, _ *contract.Product) error {
	q := web.QueryOf(req.RequestCtx, "subject", "region", "asset_type", "activity", "description", "amount", "currency", "debt_percent", "impure_income_percent")
	given := contract.Screened{
		Subject: q.Choice("subject", "asset", "transaction"), Region: q.Text("region"), AssetType: q.Text("asset_type"),
		Activity: q.Text("activity"), Description: q.Text("description"), Currency: q.Text("currency"),
		Debt: percentOf(q, "debt_percent"), Impure: percentOf(q, "impure_income_percent"),
	}
	if _, sent := q.Sent("subject"); !sent {
		q.Problems.Add("subject", "subject is required: asset or transaction")
	}
	if _, known := contract.Regions[given.Region]; !schema.Blank(given.Region) && !known {
		q.Problems.Add("region", "region is not supported by the chart of accounts")
	}
	if !schema.Blank(given.Currency) && !contract.Currencies[money.Currency(given.Currency)] {
		q.Problems.Add("currency", "currency is not one that contracts are made in")
	}
	if text, sent := q.Sent("amount"); sent {
		a, err := money.Parse(text)
		if err != nil || a.IsZero() || ledger.MaxAmount.Less(a) {
			q.Problems.Add("amount", "amount must be minor units, above zero")
		}
		given.Amount, given.HasAmount = a, true
	}
	key, err := h.keys.StaffQuery(req)
	if err != nil {
		return err
	}
	if err := q.Problems.Err(); err != nil {
		return err
	}
	if req.Request.Header.IsHead() {
		found := contractactor.Screening{Ruleset: contract.RulesetVersion, At: ledger.MicrosOf(h.cfg.Clock.Now())}
		found.Decision, found.Findings = contract.Screen(&given)
		writeScreening(req, &found, false)
		return nil
	}
	found, err := h.cfg.Contracts.Screen(req.Principal.Org, given, key)
	if err != nil {
		return err
	}
	if found.Replay {
		web.MarkReplayed(req)
	}
	writeScreening(req, &found, false)
	return nil
}

// readScreening is GET /screen/{id}: a screening's input and result.
func (h *Handlers) readScreening(req *web.Request, _ *family, _ *contract.Product) error {
	id, err := web.ParseID(req.Parameter("id"))
	if err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	found, there, err := contractactor.FindScreening(view, req.Principal.Org, id)
	if err != nil {
		return err
	}
	if !there {
		return web.NotFound()
	}
	writeScreening(req, found, true)
	return nil
}

func writeScreening(req *web.Request, found *contractactor.Screening, given bool) {
	var e web.Encoder
	e.Open('{')
	e.Enter("data", '{')
	e.ID("screening_id", found.ID)
	e.Word("decision", string(found.Decision))
	e.Enter("rules", '[')
	for _, finding := range found.Findings {
		e.Open('{')
		e.Text("code", finding.Code)
		e.Word("outcome", string(finding.Outcome))
		e.Text("detail", finding.Detail)
		e.Close('}')
	}
	e.Close(']')
	e.Integer("ruleset_version", int64(found.Ruleset))
	e.Instant("screened_at", found.At)
	if given {
		e.Enter("given", '{')
		appendScreened(&e, &found.Given)
		e.Close('}')
	}
	e.Close('}')
	e.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, e.Buf)
}

// appendScreened writes the input of a screening under the parameter names of the query.
func appendScreened(e *web.Encoder, given *contract.Screened) {
	for _, field := range []struct{ name, value string }{
		{"subject", given.Subject}, {"region", given.Region}, {"asset_type", given.AssetType}, {"activity", given.Activity},
		{"description", given.Description}, {"currency", given.Currency},
		{"debt_percent", given.Debt}, {"impure_income_percent", given.Impure},
	} {
		if field.value != "" {
			e.Text(field.name, field.value)
		}
	}
	if given.HasAmount {
		religiousFamily.appendSigned(e, "amount", money.Signed{Abs: given.Amount})
	}
}

// percentOf reads a percentage, whole or decimal, and returns it as it was sent.
func percentOf(q *web.Query, name string) string {
	text := q.Text(name)
	if text == "" {
		return ""
	}
	whole, fraction, decimal := strings.Cut(text, ".")
	if _, err := money.Parse(whole); err != nil || len(text) > 16 || decimal && (fraction == "" || strings.Trim(fraction, "0123456789") != "") {
		q.Problems.Add(name, name+" must be a number of percent")
		return ""
	}
	return text
}
