package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// screen is GET /screen: the rules applied to what is named in the query. It stores
// what it found; HEAD, of which nobody expects that, stores nothing.
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
	if _, known := contract.Regions[given.Region]; !schema.Blank(given.Region) && !known {
		q.problems.add("region", "region is not supported by the chart of accounts")
	}
	if !schema.Blank(given.Currency) && !contract.Currencies[money.Currency(given.Currency)] {
		q.problems.add("currency", "currency is not one that contracts are made in")
	}
	if said, sent := q.values["amount"]; sent {
		a, err := money.Parse(said)
		if err != nil || a.IsZero() || ledger.MaxAmount.Less(a) {
			q.problems.add("amount", "amount must be minor units, above zero")
		}
		given.Amount, given.HasAmount = a, true
	}
	key, err := s.queryKey(c)
	if err != nil {
		return err
	}
	if err := q.problems.err(); err != nil {
		return err
	}
	if c.Request.Header.IsHead() {
		found := contractactor.Screening{Ruleset: contract.RulesetVersion, At: ledger.MicrosOf(s.cfg.Clock.Now())}
		found.Decision, found.Findings = contract.Screen(&given)
		writeScreening(c, &found, false)
		return nil
	}
	found, err := s.cfg.Contracts.Screen(c.who.Org, given, key)
	if err != nil {
		return err
	}
	if found.Replay {
		replayed(c)
	}
	writeScreening(c, &found, false)
	return nil
}

// queryKey is the Idempotency-Key of a person's write that is a query: all that it says
// is in its parameters.
func (s *Server) queryKey(c *call) (actors.Key, error) {
	key, err := s.idempotencyKey(c, actors.KeyOfStaff)
	if err == nil && !key.IsZero() {
		key.Hash = s.hashOf(c, c.QueryArgs().QueryString())
	}
	return key, err
}

// readScreening is GET /screen/{id}: what a screening was given and what it found.
func (s *Server) readScreening(c *call, _ *family, _ *contract.Product) error {
	id, err := parseID(c.parameter("id"))
	if err != nil {
		return err
	}
	view := s.cfg.Journal.View()
	defer view.Close()
	found, there, err := contractactor.FindScreening(view, c.who.Org, id)
	if err != nil {
		return err
	}
	if !there {
		return notFound()
	}
	writeScreening(c, found, true)
	return nil
}

func writeScreening(c *call, found *contractactor.Screening, given bool) {
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
	writeJSON(c.RequestCtx, fiber.StatusOK, e.buf)
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
