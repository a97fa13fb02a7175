package directory

import (
	"encoding/json"
	"log/slog"
	"strconv"

	"mizan/ledger/columns"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Rate is the rate at which an organization converts From to To: the value of one major unit of From, in major units of To.
// The opposite direction has a rate of its own, or none.
//
// In the journal, the state of a rate is its value, so the events show every past value and its time. The record contains
// only the current value.
type Rate struct {
	ID        ledger.ID // computed by RateID from the organization and the two currencies
	Org       ledger.ID
	From      money.Currency
	To        money.Currency
	Value     money.Rate
	CreatedAt ledger.Micros
	UpdatedAt ledger.Micros // when the last event was booked; kept beside the stored form, like CreatedAt
}

// LogValue implements slog.LogValuer.
func (r *Rate) LogValue() slog.Value { return slog.StringValue(r.ID.String()) }

// RateID derives the id of a rate from its pair of currencies. Equal arguments give the same id, so an organization has
// only one rate for each pair, and the store needs no unique key to ensure this.
func RateID(org ledger.ID, from, to money.Currency) ledger.ID {
	return ledger.DerivedID(org, "rate|"+string(from)+"|"+string(to))
}

// Rates are the columns of rates.
var Rates = schema.NewType[Rate]("rate",
	columns.IDColumn(func(r *Rate) *ledger.ID { return &r.ID }, schema.OutOfLists),
	schema.TextField(currencyCode(1, "from", "currency that is valued"), func(r *Rate) *money.Currency { return &r.From }),
	schema.TextField(currencyCode(2, "to", "currency in which the value is given"), func(r *Rate) *money.Currency { return &r.To }),
	schema.Field(schema.NewTypedColumn[money.Rate](3, "rate", rateKind{}, []schema.Option{schema.Required,
		schema.Help("value of one major unit of the currency `from`, in major units of the currency `to`; above zero")}), func(r *Rate) *money.Rate { return &r.Value }),
	columns.CreatedColumn(func(r *Rate) *ledger.Micros { return &r.CreatedAt }),
	columns.UpdatedColumn(func(r *Rate) *ledger.Micros { return &r.UpdatedAt }),
).CrossCheck(crossCheckRate).
	Invariant(func(r *Rate) string {
		_, isFromAccepted := money.AcceptedCurrency(string(r.From))
		_, isToAccepted := money.AcceptedCurrency(string(r.To))
		switch {
		case !isFromAccepted || !isToAccepted:
			return "is between currencies that are not accepted"
		case r.ID != RateID(r.Org, r.From, r.To):
			return "lies in another pair's place"
		}
		return ""
	}).
	WithRowMetadata(func(r *Rate, metadata schema.RowMetadata) {
		r.Org, r.ID, r.CreatedAt, r.UpdatedAt = metadata.Org, metadata.ID, metadata.CreatedAt, metadata.UpdatedAt
	})

// currencyCode returns a column whose values are currencies that transactions accept.
func currencyCode(key uint8, name, help string) schema.TypedColumn[string] {
	return schema.NewTypedColumn[string](key, name, columns.KindCurrency, []schema.Option{schema.Required, schema.Fixed, schema.Help(help)})
}

func crossCheckRate(_, r *Rate, f *schema.Faults) {
	if r.From == r.To && r.From != "" {
		f.Add("to", "must be another currency than from")
	}
}

// NewRate returns the first rate for a pair of currencies, and the event of its creation. If the draft is invalid, the
// error names all wrong fields.
func NewRate(org ledger.ID, draft Rate) (*Rate, ledger.Event, error) {
	r := &draft
	r.ID, r.Org = RateID(org, r.From, r.To), org
	if err := r.check(); err != nil {
		return nil, ledger.Event{}, err
	}
	return r, createdEvent(ledger.Rate, r.ID, r.state()), nil
}

// Revalue returns a copy of the rate with a new value, and the event of this change. If the value is the same as before, it
// returns the unchanged rate and an event without a name. If the value is invalid, the error names all wrong fields.
func (r *Rate) Revalue(value money.Rate) (*Rate, ledger.Event, error) {
	next := *r
	next.Value = value
	if err := next.check(); err != nil {
		return nil, ledger.Event{}, err
	}
	if value == r.Value {
		return r, ledger.Event{}, nil
	}
	return &next, laterEvent(ledger.Rate, r.ID, Update, r.state(), next.state()), nil
}

func (r *Rate) check() error {
	faults := new(schema.Faults)
	Rates.Check(nil, r, faults)
	return FaultsAsRefusals("directory.PutRate", faults)
}

func (r *Rate) state() State { return State(r.Value.String()) }

// legalRate is the part of IsLegalTransition for rates. The state of a rate is its value, and there are too many values for a
// table. A rate may begin with any value and change to any other value.
func legalRate(event, from, to string) bool {
	switch Action(event) {
	case Create:
		return from == "" && isRate(to)
	case Update:
		return isRate(from) && isRate(to) && from != to
	}
	return false
}

// isRate tells whether a text is the stored form of a rate's value.
func isRate(text string) bool {
	value, err := money.ParseRate(text)
	return err == nil && value.String() == text
}

// rateKind is the kind of columns whose values are exchange rates of type money.Rate.
type rateKind struct{ schema.NeverEmpty }

func (rateKind) String() string { return "decimal number" }

func (rateKind) Parse(_ *schema.Column, raw []byte, _ schema.ParseOptions) (any, string) {
	var text string
	if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return nil, "must be a decimal number in a string"
	}
	rate, err := money.ParseRate(text)
	if err != nil {
		return nil, "must be a decimal number above zero, of at most " + strconv.Itoa(money.MaxRateDigits) + " digits"
	}
	return rate, ""
}

func (rateKind) Check(_ *schema.Column, value any) string {
	if rate := value.(money.Rate); rate.IsZero() {
		return "must be above zero"
	}
	return ""
}

func (rateKind) AppendStored(_ *schema.Column, dst []byte, value any) []byte {
	return append(dst, value.(money.Rate).String()...)
}

func (rateKind) ReadStored(_ *schema.Column, stored []byte) (any, bool) {
	rate, err := money.ParseRate(string(stored))
	return rate, err == nil && rate.String() == string(stored)
}

// Form implements schema.Kind.
func (rateKind) Form(*schema.Column, schema.Use) schema.Form {
	return schema.Form{Type: "string", Pattern: `^[0-9]+(\.[0-9]+)?$`}
}

func (rateKind) AppendJSON(_ *schema.Column, dst []byte, value any, _ schema.Style) []byte {
	return schema.AppendText(dst, value.(money.Rate).String())
}
