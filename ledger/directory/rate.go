package directory

import (
	"log/slog"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Rate is the value of one major unit of From in major units of To, in one organization. A pair
// is ordered: the opposite direction has its own rate, or none.
//
// A rate's state in the journal is its value, so the events keep every past value and its time;
// the record has only the current one.
type Rate struct {
	ID      ledger.ID // RateID of its organization and pair
	Org     ledger.ID
	From    money.Currency
	To      money.Currency
	Value   money.Rate
	Created ledger.Micros
	Updated ledger.Micros // booked time of the last event; like Created from the envelope
}

// LogValue implements slog.LogValuer.
func (r *Rate) LogValue() slog.Value { return slog.StringValue(r.ID.String()) }

// RateID returns the id of the pair's record. The id follows from organization and pair, so a
// pair has only one record without needing a claim.
func RateID(org ledger.ID, from, to money.Currency) ledger.ID {
	return ledger.DerivedID(org, "rate|"+string(from)+"|"+string(to))
}

// RateDraft is a request to set the rate of a pair.
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

// NewRate decides the first rate of a pair. The error is Join's.
func NewRate(org ledger.ID, d RateDraft) (*Rate, ledger.Event, error) {
	if err := d.check("directory.PutRate"); err != nil {
		return nil, ledger.Event{}, err
	}
	r := &Rate{ID: RateID(org, d.From, d.To), Org: org, From: d.From, To: d.To, Value: d.Value}
	return r, began(ledger.Rate, r.ID, r.state()), nil
}

// Revalue decides a new value of the pair's rate. The current value changes nothing. The error
// is Join's.
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

// legalRate is Legal for rates. Their states are values, too many for a table: a rate begins
// with any value and may change to any other.
func legalRate(event, from, to string) bool {
	switch Action(event) {
	case Create:
		return from == "" && isRate(to)
	case Update:
		return isRate(from) && isRate(to) && from != to
	}
	return false
}

// isRate tells whether the text is a value in its stored form.
func isRate(text string) bool {
	value, err := money.ParseRate(text)
	return err == nil && value.String() == text
}
