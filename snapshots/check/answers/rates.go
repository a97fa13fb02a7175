package answers

import (
	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
	"mizan/snapshots/check/findings"
)

// For rule 1 of the checker (acknowledged responses), this file checks responses about rates. A response must show
// the rate as it was after one of the rate's events.

const ratesPath = "/api/v1/rates"

// shownRate is a rate as one response showed it.
type shownRate struct {
	line    uint32
	org     ledger.ID // zero if the line names no organization
	id      ledger.ID
	members members
}

// readRate reads the response to a request that set a rate.
func (c *Check) readRate(lineNumber uint32, l *responseLine) {
	object := parseObject(l.data())
	id, err := uuid.Parse(object.text("id"))
	if err != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: the response shows no rate", lineNumber)
		return
	}
	c.answers.rates = append(c.answers.rates, shownRate{lineNumber, l.org, id, c.answers.membersOf(object)})
}

// checkRates checks that each shown rate is equal to the stored rate as it was after one of the rate's events.
func (c *Check) checkRates() error {
	for _, response := range c.answers.rates {
		orgs := []ledger.ID{response.org}
		if response.org == (ledger.ID{}) {
			orgs = c.organizationIDs()
		}
		found := false
		for _, org := range orgs {
			err := c.eachPastRate(org, response.id, func(r *directory.Rate) {
				found = found || response.members.equal(c.answers.membersWritten(func(e *schema.Encoder) {
					e.Buf = directory.Rates.AppendFields(e.Buf, r, schema.Style{})
				}))
			})
			if err != nil {
				return err
			}
		}
		if !found {
			c.Report.Breach(findings.RuleAnswers, "line %d: rate %v was never as the response shows it", response.line, response.id)
		}
	}
	return nil
}

// eachPastRate calls fn with the rate as it was after each of its events.
func (c *Check) eachPastRate(org, id ledger.ID, fn func(*directory.Rate)) error {
	source := ledger.Source{Kind: ledger.Rate, ID: id}
	stored, found, err := c.View.Record(org, source)
	if err != nil || !found {
		return err
	}
	r, err := directory.Rates.Read(schema.RowMetadata{Org: org, ID: id, CreatedAt: stored.Header.StartedAt}, stored.Payload, schema.NoKeys)
	if err != nil {
		return nil // rule 3 (states of records) reports the record, and checkRates reports the response
	}
	return c.View.SourceEvents(org, source, func(e ledger.Event) (bool, error) {
		value, err := money.ParseRate(e.To)
		if r.Value, r.UpdatedAt = value, e.Booked; err == nil {
			fn(r)
		}
		return true, c.Interrupted()
	})
}

func (c *Check) organizationIDs() (list []ledger.ID) {
	for org := range c.Organizations {
		list = append(list, org)
	}
	return list
}
