package contract

import (
	"fmt"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// Record is the current state of a contract. It does not contain the contract's number and version, which the writer
// (package posting) stores beside the record.
type Record struct {
	ID      ledger.ID
	Product *Product
	Reading *Reading
	Status  Status
	Asset   money.Asset
	Values  schema.Row // the values of Product.Columns

	// Booked is the time at which the contract's last event was booked, if known. It may be some microseconds ahead of the
	// clock, because the writer's timestamps increase even while the clock stands still. A decision uses the clock's time
	// or Booked, whichever is later.
	Booked ledger.Micros

	// Caller is the user who requests the next decision. The caller is not stored.
	Caller Caller

	// Register is the part of the register of certificate holders that the next decision needs (RegisterQuery). Balances
	// needs the whole register. The register is not stored with the record.
	Register Register
}

// Caller is the user who requests an action on a contract. The rule of dual control needs to know who it is.
type Caller struct {
	User ledger.ID // zero if no user makes the request, such as in the sandbox's session

	// DualControl tells whether the organization demands dual control: a user who has created or submitted a contract may
	// not approve it.
	DualControl bool
}

// next returns a copy of the record, which a decision can change.
func (r *Record) next() *Record {
	successor := *r
	successor.Register, successor.Caller = Register{}, Caller{}
	successor.Values = append(schema.Row(nil), r.Values...)
	return &successor
}

// account returns the path of one of the contract's own accounts, which is a stem, such as A:mudaraba, followed by the
// contract's id.
func (r *Record) account(stem string) ledger.Path { return ledger.Path(stem + ":" + r.ID.String()) }

// accountFor returns the path of an account that the contract has for one person.
func (r *Record) accountFor(stem string, person ledger.ID) ledger.Path {
	return ledger.Path(stem + ":" + r.ID.String() + ":" + person.String())
}

// Cash is the stem of the institution's cash accounts. There is one account for each region.
const Cash ledger.Path = "A:cash"

// cash returns the institution's cash account in the contract's region.
func (r *Record) cash() ledger.Path { return Cash + ":" + ledger.Path(Region.Get(r.Values)) }

// currentAccount returns a person's current account.
func currentAccount(person ledger.ID) ledger.Path {
	return ledger.Path("L:customer:" + person.String() + ":current")
}

// AccountBalance is the balance of one of a contract's own accounts. The balance is on the normal side of the account's
// class. The only exceptions are the equity accounts of losses, which have debit balances.
type AccountBalance struct {
	Account ledger.Path
	Amount  money.Amount
}

// lossStem is the stem of the equity accounts to which losses are debited.
const lossStem = "Q:loss"

// Signed returns the signed balance of the account.
func (h AccountBalance) Signed() money.Signed {
	return money.Signed{Abs: h.Amount, Negative: !h.Amount.IsZero() && strings.HasPrefix(string(h.Account), lossStem+":")}
}

// The columns that all products have.
var (
	Region          = schema.Text(1, "region", schema.Required, schema.InShort, schema.AtMost(2), schema.Help("code of the region"))
	Currency        = schema.Text(2, "currency", schema.Settable, schema.InShort, schema.AtMost(3), schema.Help("currency code"))
	ClientMetadata  = schema.Object(3, "metadata", schema.Settable, schema.Help("an object of your own")) // the object that the client sent
	Reviewed        = approval(4, "compliance_review", schema.Help("the approval of the contract"))
	ReviewedAt      = schema.Instant(5, "reviewed_at", schema.NotShown)
	RejectionReason = schema.Text(6, "rejection_reason", schema.Sparse, schema.Help("why the contract was rejected")) // why the contract was rejected

	// ScreeningID is the id of the screening (a check of the customer or the asset) that the request for the contract names.
	ScreeningID = schema.ID(7, "screening_id", schema.Settable, schema.Help("the screening of the customer or the asset"))

	// creationDay is the day on which the contract was created, by the service's clock. The contract's number contains the
	// year of this day.
	creationDay = schema.Date(8, "made_on", schema.NotShown)

	// readingDay is the day on which the record is read.
	readingDay = schema.Date(9, "as_of", schema.NotShown, schema.Transient)

	// RequestedBy is the user who has created the contract. submittedBy is the user who has submitted the contract for a
	// review.
	RequestedBy = schema.ID(10, "requested_by", schema.NotShown)
	submittedBy = schema.ID(11, "submitted_by", schema.NotShown)

	baseColumns = schema.NewTable(nil, Region, Currency, ClientMetadata, Reviewed, ReviewedAt, RejectionReason, ScreeningID, creationDay, readingDay, RequestedBy, submittedBy)
)

// AsOf returns the record as it is shown on the given day, because some columns depend on the day. A timestamp in the
// record may be some microseconds earlier than firstBooked, the time at which the first event was booked, because the
// writer may be ahead of the clock. Such a timestamp is shown as firstBooked.
func (r *Record) AsOf(firstBooked ledger.Micros, day ledger.Date) *Record {
	shown := r.next()
	readingDay.Set(shown.Values, day)
	for _, c := range r.Product.Columns.Columns {
		if instant, ok := c.Stored(shown.Values).(ledger.Micros); ok && instant < firstBooked {
			c.Put(shown.Values, firstBooked)
		}
	}
	return shown
}

// Number formats the contract's number: the prefix of the product's variant, the year of creation, and a sequence number.
// If the record has no creation day, the year of booked is used.
func (r *Record) Number(booked ledger.Micros, sequence uint64) string {
	day := booked.Date()
	if creationDay.Has(r.Values) {
		day = creationDay.Get(r.Values)
	}
	return fmt.Sprintf("%s-%d-%06d", r.Product.Variants[r.Reading].Prefix, day.Time().Year(), sequence)
}

// Customer returns the contract's customer, or zero if the product has no customers.
func (r *Record) Customer() (customer ledger.ID) {
	if c := r.Product.Columns.ByName(r.Product.Customer); c != nil {
		customer, _ = c.Stored(r.Values).(ledger.ID)
	}
	return customer
}

// Types returns the possible values of the column that Product.Type names. Clients can filter lists of contracts by this
// column.
func (p *Product) Types() []string {
	if c := p.Columns.ByName(p.Type); c != nil {
		return c.Words
	}
	return nil
}

// Type returns the contract's value in the column that Product.Type names.
func (r *Record) Type() (name string) {
	if c := r.Product.Columns.ByName(r.Product.Type); c != nil {
		name, _ = c.Stored(r.Values).(string)
	}
	return name
}

// FormatValue formats a value for people.
func FormatValue(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
