package labels

import "strings"

// Kinds of records whose states in the journal are not just a word: ledger.Rate and ledger.Period.
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

// HasEvent tells whether there is a label for an event.
func (t *Texts) HasEvent(kind, name string) bool {
	_, ok := lookUp(t.Events, kind+"."+name)
	return ok
}

// State returns the label of the state that a record of a kind has in the journal; empty for no state. The state of a rate is its
// value, which is also the label. The state of a closed month is a word, the month and a hash; the label has only the word and
// the month.
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
