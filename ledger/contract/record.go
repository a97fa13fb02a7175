package contract

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Record is a contract as it stands. Its number, version and times are the
// writer's.
type Record struct {
	ID      ledger.ID
	Product *Product
	Reading *Reading
	Status  Status
	Asset   money.Asset
	Values  Row // of Product.Columns
}

// next is the record that a decision works on.
func (r *Record) next() *Record {
	copied := *r
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

// Holding is what one of a contract's own accounts holds, on its normal side.
type Holding struct {
	Account ledger.Path
	Amount  money.Amount
}

// The columns that all products have.
var (
	Region     = text(1, "region", required, short, atMost(2))
	Currency   = text(2, "currency", asked, short, atMost(3))
	Sent       = object(3, "metadata", asked)
	Reviewed   = approval(4, "compliance_review")
	ReviewedAt = instant(5, "reviewed_at", hidden)
	Why        = text(6, "rejection_reason", inMetadata)

	base = columns(nil, Region, Currency, Sent, Reviewed, ReviewedAt, Why)
)
