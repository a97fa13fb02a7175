package scan

import (
	"mizan/ledger"
	"mizan/posting"
	"mizan/snapshots/check/findings"
)

// Record is a stored record, together with the history of its events.
type Record struct {
	Organization *Organization
	Source       ledger.Source
	History      *History
	Header       posting.RecordHeader
	Payload      []byte
}

// Fault reports a record that breaks rule 3.
func (c *Scan) Fault(r *Record, format string, args ...any) {
	c.Report.Breach(findings.RuleStates, "organization %v: %s "+format, append([]any{r.Organization.ID, NameOf(r.Source)}, args...)...)
}

// CheckState compares the state that the record's payload says with the state to which the record's events led.
func (c *Scan) CheckState(r *Record, state string) {
	if last := r.Organization.Histories.StatesOf(r.Source.Kind).Name(r.History); state != last {
		c.Fault(r, "says %q, and its events lead to %q", state, last)
	}
}

// EventFault reports an event that breaks rule 3.
func (c *Scan) EventFault(org ledger.ID, e *ledger.Event, text string) {
	c.Report.Breach(findings.RuleStates, "organization %v: event %d of %s: %s", org, e.Seq, NameOf(e.Source), text)
}
