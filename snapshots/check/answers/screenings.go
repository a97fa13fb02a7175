package answers

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/snapshots/check/findings"
)

// Rule 1, screenings, rates and lists of subscriptions. A stored screening is equal to the
// answer in all fields; a stored rate had the shown value at the shown instant.

const screeningsPath = religiousContracts + "screen"

// screeningFields are the fields of every answer that shows a screening.
var screeningFields = [...]string{"screening_id", "decision", "rules", "ruleset_version", "screened_at"}

// readScreening compares an answer that shows a screening with the store immediately, because a
// screening never changes.
func (c *Check) readScreening(n uint32, rest string, l *answerLine) {
	var response struct {
		Data object `json:"data"`
	}
	if json.Unmarshal(embedded(l.Response), &response) != nil {
		response.Data = nil
	}
	s := response.Data
	id, err := uuid.Parse(s.text("screening_id"))
	if asked := strings.TrimPrefix(rest, "/"); err != nil || asked != "" && asked != id.String() {
		c.Report.Breach(findings.RuleAnswers, "line %d: the answer shows no screening, or another one than was asked for", n)
		return
	}
	found, there, err := contractactor.FindScreening(c.View, l.org, id)
	if err != nil || !there {
		c.Report.Breach(findings.RuleAnswers, "line %d: screening %v of organization %v is lost", n, id, l.org)
		return
	}
	want := screeningOf(found)
	var names []string
	for _, name := range screeningFields {
		if canonical(s[name]) != canonical(want[name]) {
			names = append(names, name)
		}
	}
	if given, shows := s["given"]; shows && !sameGiven(parseObject(given), &found.Given) {
		names = append(names, "given")
	}
	if names != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: screening %v is stored with another %s", n, id, joined(names))
	}
	if l.IdempotencyKey == "" || rest != "" {
		return
	}
	if made, found := c.claimedBy(n, l.org, actors.KeyOfStaff, l.IdempotencyKey); !found || made.ID != id {
		c.Report.Breach(findings.RuleAnswers, "line %d: the key that screening %v was asked for with names it no more", n, id)
	}
}

// screeningOf returns a stored screening as answers show it.
func screeningOf(found *contractactor.Screening) object {
	rules := make([]map[string]string, len(found.Findings))
	for i, f := range found.Findings {
		rules[i] = map[string]string{"code": f.Code, "outcome": string(f.Outcome), "detail": f.Detail}
	}
	return object{
		"screening_id": quoted(found.ID.String()), "decision": quoted(string(found.Decision)), "rules": asJSON(rules),
		"ruleset_version": number(uint64(found.Ruleset)), "screened_at": instant(found.At),
	}
}

// sameGiven tells whether an answer shows the inputs of the stored screening.
func sameGiven(s object, given *contract.Screened) bool {
	want := map[string]string{
		"subject": given.Subject, "region": given.Region, "asset_type": given.AssetType, "activity": given.Activity,
		"description": given.Description, "currency": given.Currency, "debt_percent": given.Debt, "impure_income_percent": given.Impure,
	}
	for name, said := range want {
		if s.text(name) != said {
			return false
		}
	}
	amount := ""
	if given.HasAmount {
		amount = given.Amount.String()
	}
	return string(s["amount"]) == amount
}

// checkRateChange reads the answer to a request that set a rate.
func (c *Check) checkRateChange(n uint32, l *answerLine) {
	var response struct {
		Data object `json:"data"`
	}
	if json.Unmarshal(embedded(l.Response), &response) != nil {
		response.Data = nil
	}
	s := response.Data
	id, err := uuid.Parse(s.text("id"))
	at, dated := instantOf(s.text("updated_at"))
	rate, wrong := money.ParseRate(s.text("rate"))
	if err != nil || !dated || wrong != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: the answer shows no rate", n)
		return
	}
	began, old := instantOf(s.text("created_at"))
	if from, to := money.Currency(s.text("from")), money.Currency(s.text("to")); !old || l.orgErr == nil && id != directory.RateID(l.org, from, to) {
		c.Report.Breach(findings.RuleAnswers, "line %d: rate %v is of another pair, or of no time", n, id)
	}
	c.answers.rates = append(c.answers.rates, rateAnswer{n, l.org, id, began, at, rate.String()})
}

// rateAnswer is what an answer shows of a rate.
type rateAnswer struct {
	line  uint32
	org   ledger.ID // the zero id: the line names no organization
	id    ledger.ID
	began ledger.Micros // time of the pair's first rate
	at    ledger.Micros
	value string
}

// checkRates looks for the events of the rates that answers show.
func (c *Check) checkRates() error {
	for _, a := range c.answers.rates {
		orgs := []ledger.ID{a.org}
		if a.org == (ledger.ID{}) {
			orgs = c.everyOrg()
		}
		found, first := false, false
		for _, org := range orgs {
			err := c.View.SourceEvents(org, ledger.Source{Kind: ledger.Rate, ID: a.id}, func(e ledger.Event) (bool, error) {
				found = found || e.Booked == a.at && e.To == a.value
				first = first || e.Version == 1 && e.Booked == a.began
				return true, c.Interrupted()
			})
			if err != nil {
				return err
			}
		}
		if !found || !first {
			c.Report.Breach(findings.RuleAnswers, "line %d: rate %v was not %s at that instant, or not made then", a.line, a.id, a.value)
		}
	}
	return nil
}

func (c *Check) everyOrg() (list []ledger.ID) {
	for org := range c.Organizations {
		list = append(list, org)
	}
	return list
}

// readSubscriptions reads an answer about subscriptions.
func (c *Check) readSubscriptions(n uint32, rest string, l *answerLine) bool {
	id, move, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	var response struct {
		Data jsontext.Value `json:"data"`
	}
	ok := json.Unmarshal(embedded(l.Response), &response) == nil
	switch status := *l.Status; {
	case l.Method == "POST" && id == "" && status == 201, l.Method == "POST" && move != "" && status == 200, l.Method == "GET" && id != "" && status == 200:
		s := parseObject(response.Data)
		if !ok || !c.noteSubscription(n, l, s) || id != "" && s.text("id") != id {
			c.Report.Breach(findings.RuleAnswers, "line %d: the answer shows no subscription, or another one than was asked for", n)
		}
		return true
	case l.Method == "GET" && id == "" && status == 200:
		var list []object
		if !ok || json.Unmarshal(response.Data, &list) != nil {
			c.Report.Breach(findings.RuleAnswers, "line %d: the answer lists nothing", n)
			return true
		}
		for _, s := range list {
			if !c.noteSubscription(n, l, s) {
				c.Report.Breach(findings.RuleAnswers, "line %d: the answer lists what is no subscription", n)
			}
		}
		return len(list) > 0
	}
	return false
}
