package labels

import "strings"

// The kinds of records ledger.Rate and ledger.Period. Their states in the journal are more than one word.
const (
	rateKind   = "rate"
	periodKind = "period"
)

// Event returns the label of an event. The kind is the API's word for the kind of the event's record, such as "transaction".
func (t *Texts) Event(kind, name string) string {
	if label, ok := lookUp(t.Events, kind+"."+name); ok {
		return label
	}
	return plain(name)
}

// HasEvent tells whether an event has a label.
func (t *Texts) HasEvent(kind, name string) bool {
	_, ok := lookUp(t.Events, kind+"."+name)
	return ok
}

// State returns the label of a record's state in the journal. The label depends on the kind of record. If there is no state,
// the label is empty. The state of a rate is the rate's value, which is also the label. The state of a month in the books is a
// word, the month and a hash; the label has only the word and the month.
func (t *Texts) State(kind, state string) string {
	switch kind {
	case rateKind:
		return state
	case periodKind:
		word, rest, _ := strings.Cut(state, " ")
		month, _, _ := strings.Cut(rest, " ")
		return strings.TrimSpace(t.Word(kind+".status", word) + " " + month)
	}
	return t.Word(kind+".status", state)
}
