package scan

import (
	"mizan/ledger"
	"mizan/posting"
	"mizan/snapshots/check/findings"
)

// Record is one stored record beside its history.
type Record struct {
	Organization *Organization
	Source       ledger.Source
	History      *History
	Stamp        posting.Stamp
	Payload      []byte
}

func (c *Scan) Fault(r *Record, format string, args ...any) {
	c.Report.Breach(findings.RuleStates, "organization %v: %s "+format, append([]any{r.Organization.ID, Named(r.Source)}, args...)...)
}

// CheckState compares the state that a payload names.
func (c *Scan) CheckState(r *Record, state string) {
	if last := r.Organization.Histories.StatesOf(r.Source.Kind).Name(r.History); state != last {
		c.Fault(r, "says %q, and its events lead to %q", state, last)
	}
}

// EventFault reports an event that breaks the rule about states.
func (c *Scan) EventFault(org ledger.ID, e *ledger.Event, what string) {
	c.Report.Breach(findings.RuleStates, "organization %v: event %d of %s: %s", org, e.Seq, Named(e.Source), what)
}
