package check

import (
	"mizan/ledger"
	"mizan/posting"
)

// record is one stored record beside its history.
type record struct {
	organization *organization
	source       ledger.Source
	history      *history
	stamp        posting.Stamp
	payload      []byte
}

func (c *scan) faulty(r *record, format string, args ...any) {
	c.report.breach(ruleStates, "organization %v: %s "+format, append([]any{r.organization.id, named(r.source)}, args...)...)
}

// checkState compares the state that a payload names.
func (c *scan) checkState(r *record, state string) {
	if last := r.organization.histories.statesOf(r.source.Kind).name(r.history); state != last {
		c.faulty(r, "says %q, and its events lead to %q", state, last)
	}
}

// wrongEvent reports an event that breaks the rule about states.
func (c *scan) wrongEvent(org ledger.ID, e *ledger.Event, what string) {
	c.report.breach(ruleStates, "organization %v: event %d of %s: %s", org, e.Seq, named(e.Source), what)
}
