package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
)

// screen is GET /screen: the rules applied to what is named in the query. It stores
// what it found; HEAD, of which nobody expects that, stores nothing.
func (h *contractsHandlers) screen(req *Request, f *family, _ *contract.Product) error {
	q := queryOf(req.RequestCtx, "subject", "region", "asset_type", "activity", "description", "amount", "currency", "debt_percent", "impure_income_percent")
	given := contract.Screened{
		Subject: q.choice("subject", "asset", "transaction"), Region: q.text("region"), AssetType: q.text("asset_type"),
		Activity: q.text("activity"), Description: q.text("description"), Currency: q.text("currency"),
		Debt: percentOf(q, "debt_percent"), Impure: percentOf(q, "impure_income_percent"),
	}
	if _, sent := q.sent("subject"); !sent {
		q.problems.add("subject", "subject is required: asset or transaction")
	}
	if _, known := contract.Regions[given.Region]; !contract.Blank(given.Region) && !known {
		q.problems.add("region", "region is not supported by the chart of accounts")
	}
	if !contract.Blank(given.Currency) && !contract.Currencies[money.Currency(given.Currency)] {
		q.problems.add("currency", "currency is not one that contracts are made in")
	}
	if said, sent := q.sent("amount"); sent {
		a, err := money.Parse(said)
		if err != nil || a.IsZero() || ledger.MaxAmount.Less(a) {
			q.problems.add("amount", "amount must be minor units, above zero")
		}
		given.Amount, given.HasAmount = a, true
	}
	key, err := h.keys.StaffQuery(req)
	if err != nil {
		return err
	}
	if err := q.problems.err(); err != nil {
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
		replayed(req)
	}
	writeScreening(req, &found, false)
	return nil
}

// readScreening is GET /screen/{id}: what a screening was given and what it found.
func (h *contractsHandlers) readScreening(req *Request, _ *family, _ *contract.Product) error {
	id, err := parseID(req.Parameter("id"))
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
		return notFound()
	}
	writeScreening(req, found, true)
	return nil
}

func writeScreening(req *Request, found *contractactor.Screening, given bool) {
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
	if given {
		e.enter("given", '{')
		appendScreened(&e, &found.Given)
		e.close('}')
	}
	e.close('}')
	e.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, e.buf)
}

// appendScreened writes what a screening was given, under the names of the query.
func appendScreened(e *encoder, given *contract.Screened) {
	for _, said := range []struct{ name, text string }{
		{"subject", given.Subject}, {"region", given.Region}, {"asset_type", given.AssetType}, {"activity", given.Activity},
		{"description", given.Description}, {"currency", given.Currency},
		{"debt_percent", given.Debt}, {"impure_income_percent", given.Impure},
	} {
		if said.text != "" {
			e.text(said.name, said.text)
		}
	}
	if given.HasAmount {
		religiousFamily.style.appendSigned(e, "amount", money.Signed{Abs: given.Amount})
	}
}

// percent is a number of percent, whole or decimal, as it was sent.
func percentOf(q *query, name string) string {
	said := q.text(name)
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
