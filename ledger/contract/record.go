package contract

import (
	"fmt"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Record is the current state of a contract. Its number and version belong to the writer.
type Record struct {
	ID      ledger.ID
	Product *Product
	Reading *Reading
	Status  Status
	Asset   money.Asset
	Values  Row // of Product.Columns

	// Booked is the instant of the last event, if known. While the clock stands still,
	// events are booked some microseconds after it, and decisions use the later of both.
	Booked ledger.Micros

	// Register is the extract of the register of holders for the next decision (Reads), or
	// the whole register for Holdings. It is not stored with the record.
	Register Register
}

// next is the copy that a decision changes.
func (r *Record) next() *Record {
	copied := *r
	copied.Register = Register{}
	copied.Values = append(Row(nil), r.Values...)
	return &copied
}

// account is the path of one of the contract's own accounts.
func (r *Record) account(stem string) ledger.Path { return ledger.Path(stem + ":" + r.ID.String()) }

// accountFor is the path of one of its accounts for a person.
func (r *Record) accountFor(stem string, whose ledger.ID) ledger.Path {
	return ledger.Path(stem + ":" + r.ID.String() + ":" + whose.String())
}

// cash is the institution's cash account in the contract's region.
func (r *Record) cash() ledger.Path { return ledger.Path("A:cash:" + Region.Of(r.Values)) }

// current is a person's current account.
func current(whose ledger.ID) ledger.Path {
	return ledger.Path("L:customer:" + whose.String() + ":current")
}

// Holding is the balance of one of a contract's own accounts: on its normal side, and for
// an equity account of losses on the debit side.
type Holding struct {
	Account ledger.Path
	Amount  money.Amount
}

// lossStem is the stem of equity accounts that losses are debited to.
const lossStem = "Q:loss"

// Balance returns the signed balance of the account.
func (h Holding) Balance() money.Signed {
	return money.Signed{Abs: h.Amount, Negative: !h.Amount.IsZero() && strings.HasPrefix(string(h.Account), lossStem+":")}
}

// The columns of all products.
var (
	Region     = text(1, "region", required, short, atMost(2))
	Currency   = text(2, "currency", asked, short, atMost(3))
	Sent       = object(3, "metadata", asked)
	Reviewed   = approval(4, "compliance_review")
	ReviewedAt = instant(5, "reviewed_at", hidden)
	Why        = text(6, "rejection_reason", sparse)

	// ScreeningID is the screening that a request for the contract names.
	ScreeningID = id(7, "screening_id", asked)

	// made is the day of creation by the clock. Its year is in the contract's number.
	made = date(8, "made_on", hidden)

	// asOf is the day of reading.
	asOf = date(9, "as_of", hidden, transient)

	base = columns(nil, Region, Currency, Sent, Reviewed, ReviewedAt, Why, ScreeningID, made, asOf)
)

// AsOf is the record as it is shown on a day, for columns that depend on the day. Instants
// before the first event are shown as that event's: it was booked right after the decision.
func (r *Record) AsOf(first ledger.Micros, day ledger.Date) *Record {
	shown := r.next()
	asOf.Set(shown.Values, day)
	for _, c := range r.Product.Columns.Columns {
		if at, ok := shown.Values[c.place].(ledger.Micros); ok && at < first {
			shown.Values[c.place] = first
		}
	}
	return shown
}

// Number formats the contract's number: the prefix of the product's variant, the year of
// creation, and the place n in their sequence.
func (r *Record) Number(booked ledger.Micros, n uint64) string {
	on := booked.Date()
	if made.Has(r.Values) {
		on = made.Of(r.Values)
	}
	return fmt.Sprintf("%s-%d-%06d", r.Product.Variants[r.Reading].Prefix, on.Time().Year(), n)
}

// Customer is the contract's customer; zero if the product has none.
func (r *Record) Customer() (who ledger.ID) {
	if c := r.Product.Columns.names[r.Product.Customer]; c != nil {
		who, _ = r.Values[c.place].(ledger.ID)
	}
	return who
}

// Types are the types by which lists of a product can be filtered.
func (p *Product) Types() []string {
	if c := p.Columns.names[p.Type]; c != nil {
		return c.Words
	}
	return nil
}

// Type is the contract's type in that filter.
func (r *Record) Type() (name string) {
	if c := r.Product.Columns.names[r.Product.Type]; c != nil {
		name, _ = r.Values[c.place].(string)
	}
	return name
}

// Plain formats a value for people.
func Plain(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
