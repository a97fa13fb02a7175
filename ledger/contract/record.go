package contract

import (
	"fmt"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Record is a contract as it stands. Its number and version are the writer's.
type Record struct {
	ID      ledger.ID
	Product *Product
	Reading *Reading
	Status  Status
	Asset   money.Asset
	Values  Row // of Product.Columns

	// Booked is the instant of its last event, where that is known. Events that the
	// clock stands still for are booked some microseconds after what it shows, and no
	// instant that is decided on is before one that is booked.
	Booked ledger.Micros

	// Register is the part of the register of holders that the next decision reads
	// (Reads), or all of it for Holdings. It is not stored with the record.
	Register Register
}

// next is the record that a decision works on.
func (r *Record) next() *Record {
	copied := *r
	copied.Register = Register{}
	copied.Values = append(Row(nil), r.Values...)
	return &copied
}

// account is the path of one of the contract's own accounts.
func (r *Record) account(stem string) ledger.Path { return ledger.Path(stem + ":" + r.ID.String()) }

// accountOf is the path of one that it has for somebody.
func (r *Record) accountOf(stem string, whose ledger.ID) ledger.Path {
	return ledger.Path(stem + ":" + r.ID.String() + ":" + whose.String())
}

// cash is the institution's in the contract's region.
func (r *Record) cash() ledger.Path { return ledger.Path("A:cash:" + Region.Of(r.Values)) }

// current is what the institution owes a person.
func current(whose ledger.ID) ledger.Path {
	return ledger.Path("L:customer:" + whose.String() + ":current")
}

// Holding is what one of a contract's own accounts holds, on its normal side; on the
// other side where losses are debited to an account of equity.
type Holding struct {
	Account ledger.Path
	Amount  money.Amount
}

// equityLost is the stem of accounts of equity that losses are debited to.
const equityLost = "Q:loss"

// Balance is the account's balance that follows from what it holds.
func (h Holding) Balance() money.Signed {
	return money.Signed{Abs: h.Amount, Negative: !h.Amount.IsZero() && strings.HasPrefix(string(h.Account), equityLost+":")}
}

// The columns that all products have.
var (
	Region     = text(1, "region", required, short, atMost(2))
	Currency   = text(2, "currency", asked, short, atMost(3))
	Sent       = object(3, "metadata", asked)
	Reviewed   = approval(4, "compliance_review")
	ReviewedAt = instant(5, "reviewed_at", hidden)
	Why        = text(6, "rejection_reason", sparse)

	// ScreeningID is the screening that the contract rests on, where one is named.
	ScreeningID = id(7, "screening_id", asked)

	// made is the day of the clock on which the contract was made: its number's year.
	made = date(8, "made_on", hidden)

	// asOf is the day on which somebody looks.
	asOf = date(9, "as_of", hidden, fleet)

	base = columns(nil, Region, Currency, Sent, Reviewed, ReviewedAt, Why, ScreeningID, made, asOf)
)

// Told is the record as it is told on a day: what follows from the day is worked out
// for that one. None of its instants is before the first event, which was booked when
// what it decided was decided already.
func (r *Record) Told(first ledger.Micros, day ledger.Date) *Record {
	told := r.next()
	asOf.Set(told.Values, day)
	for _, c := range r.Product.Columns.Columns {
		if at, ok := told.Values[c.place].(ledger.Micros); ok && at < first {
			told.Values[c.place] = first
		}
	}
	return told
}

// Number is a contract's number as it is shown: the prefix of its product in its
// reading, the year in which it was made, and its place in that sequence. Where the
// record does not say on which day it was made, that is when it was first booked.
func (r *Record) Number(booked ledger.Micros, n uint64) string {
	on := booked.Date()
	if made.Has(r.Values) {
		on = made.Of(r.Values)
	}
	return fmt.Sprintf("%s-%d-%06d", r.Product.Faces[r.Reading].Prefix, on.Time().Year(), n)
}

// Customer is whose contract it is; zero: the product has no customer.
func (r *Record) Customer() (who ledger.ID) {
	if c := r.Product.Columns.names[r.Product.Customer]; c != nil {
		who, _ = r.Values[c.place].(ledger.ID)
	}
	return who
}

// Types are what a product's contracts are of; none where lists don't filter by it.
func (p *Product) Types() []string {
	if c := p.Columns.names[p.Type]; c != nil {
		return c.Words
	}
	return nil
}

// Type is what the contract is of, as lists filter by it.
func (r *Record) Type() (said string) {
	if c := r.Product.Columns.names[r.Product.Type]; c != nil {
		said, _ = r.Values[c.place].(string)
	}
	return said
}

// Plain is a value for people: a number, a day or a text.
func Plain(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
