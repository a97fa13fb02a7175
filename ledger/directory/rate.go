package directory

import (
	"log/slog"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Rate is what one major unit of From is worth in major units of To, in one
// organization. A pair is ordered: the way back has a rate of its own, or none.
//
// A rate's state in the journal is its value, so that the events keep every
// value that ever held, and from when: the record itself has only the last one.
type Rate struct {
	ID      ledger.ID // RateID of its organization and pair
	Org     ledger.ID
	From    money.Currency
	To      money.Currency
	Value   money.Rate
	Created ledger.Micros
	Updated ledger.Micros // booked time of its last event; like Created from the envelope
}

// LogValue implements slog.LogValuer.
func (r *Rate) LogValue() slog.Value { return slog.StringValue(r.ID.String()) }

// RateID is the id of the pair's record: a pair has one record in an organization,
// without a claim on it.
func RateID(org ledger.ID, from, to money.Currency) ledger.ID {
	return ledger.DerivedID(org, "rate|"+string(from)+"|"+string(to))
}

// RateDraft is what a pair's rate was asked to be.
type RateDraft struct {
	From  money.Currency
	To    money.Currency
	Value money.Rate
}

func (d *RateDraft) check(op string) error {
	_, from := money.Accepted(string(d.From))
	_, to := money.Accepted(string(d.To))
	return Join(
		check(from, op, "from", "unsupported currency"),
		check(to, op, "to", "unsupported currency"),
		check(d.From != d.To || !from, op, "to", "must be another currency than from"),
		check(!d.Value.IsZero(), op, "rate", "must be above zero"),
	)
}

// NewRate decides that a pair without a rate gets one. The error is
// Join's.
func NewRate(org ledger.ID, d RateDraft) (*Rate, ledger.Event, error) {
	if err := d.check("directory.PutRate"); err != nil {
		return nil, ledger.Event{}, err
	}
	r := &Rate{ID: RateID(org, d.From, d.To), Org: org, From: d.From, To: d.To, Value: d.Value}
	return r, began(ledger.Rate, r.ID, r.state()), nil
}

// Revalue decides that another value holds for the pair from now on. The value
// that it has already changes nothing. The error is Join's.
func (r *Rate) Revalue(value money.Rate) (*Rate, ledger.Event, error) {
	d := RateDraft{From: r.From, To: r.To, Value: value}
	if err := d.check("directory.PutRate"); err != nil {
		return nil, ledger.Event{}, err
	}
	if value == r.Value {
		return r, ledger.Event{}, nil
	}
	next := *r
	next.Value = value
	return &next, moved(ledger.Rate, r.ID, Update, r.state(), next.state()), nil
}

func (r *Rate) state() State { return State(r.Value.String()) }

// legalRate is Legal for rates. Their states are all values that a rate can
// have, which no table lists: a rate begins with one and goes to any other.
func legalRate(event, from, to string) bool {
	switch Action(event) {
	case Create:
		return from == "" && isRate(to)
	case Update:
		return isRate(from) && isRate(to) && from != to
	}
	return false
}

// isRate tells whether the text is a value in the one form that it is kept in.
func isRate(text string) bool {
	value, err := money.ParseRate(text)
	return err == nil && value.String() == text
}
