package answers

import (
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/snapshots/check/findings"
)

// Rule 1, rates. A stored rate had the shown value at the shown instant.

const ratesPath = "/api/v1/rates"

// checkRateChange reads the answer to a request that set a rate.
func (c *Check) checkRateChange(n uint32, l *answerLine) {
	s := parseObject(l.data())
	id, err := uuid.Parse(s.text("id"))
	at, dated := instantOf(s.text("updated_at"))
	rate, wrong := money.ParseRate(s.text("rate"))
	if err != nil || !dated || wrong != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: the answer shows no rate", n)
		return
	}
	since, old := instantOf(s.text("created_at"))
	if from, to := money.Currency(s.text("from")), money.Currency(s.text("to")); !old || l.orgErr == nil && id != directory.RateID(l.org, from, to) {
		c.Report.Breach(findings.RuleAnswers, "line %d: rate %v is of another pair, or of no time", n, id)
	}
	c.answers.rates = append(c.answers.rates, rateAnswer{n, l.org, id, since, at, rate.String()})
}

// rateAnswer is what an answer shows of a rate.
type rateAnswer struct {
	line  uint32
	org   ledger.ID // the zero id: the line names no organization
	id    ledger.ID
	since ledger.Micros // time of the pair's first rate
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
				first = first || e.Version == 1 && e.Booked == a.since
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
