package answers

import (
	"github.com/google/uuid"

	"mizan/actors"
	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/jsonform"
	"mizan/ledger/schema"
	"mizan/snapshots/check/findings"
)

// For rule 1 of the checker (acknowledged responses), this file checks responses about screenings. A screening is the
// stored decision on whether an asset or a transaction complies with the rules of religious contracts. A screening
// never changes, so its JSON form must be equal to every response that shows the screening.

var screeningsPath = contractsPathPrefix(contract.Religious) + "screen"

// readScreening compares the stored screening with a response that shows it. If rest is empty, the request carried out the
// screening. Otherwise rest is the id of the screening, and the response also shows the screening's input.
func (c *Check) readScreening(lineNumber uint32, rest string, l *responseLine) bool {
	if l.Method != "GET" || *l.Status != 200 {
		return false
	}
	object := parseObject(l.data())
	id, err := uuid.Parse(object.text("screening_id"))
	if err != nil || rest != "" && rest != id.String() {
		c.Report.Breach(findings.RuleAnswers, "line %d: the response shows no screening, or another one than was asked for", lineNumber)
		return true
	}
	screening, found, err := contractactor.FindScreening(c.View, l.org, id)
	if err != nil || !found {
		c.Report.Breach(findings.RuleAnswers, "line %d: screening %v of organization %v is lost", lineNumber, id, l.org)
		return true
	}
	a := &c.answers
	form := a.membersWritten(func(e *schema.Encoder) { jsonform.AppendScreening(e, &screening.Screening, rest != "") })
	if names := a.differingNames(form, a.membersOf(object), nil); names != nil {
		c.Report.Breach(findings.RuleAnswers, "line %d: screening %v is stored with another %s", lineNumber, id, joinNames(names))
	}
	if l.IdempotencyKey != "" && rest == "" {
		c.checkKey(&keyedResponse{lineNumber, l.org, l.IdempotencyKey, ledger.Source{Kind: ledger.Screening, ID: id}}, actors.UserKeyScope)
	}
	return true
}
