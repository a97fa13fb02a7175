package payment

import (
	"mizan/ledger"
	"mizan/ledger/money"
)

// Type is the direction of a transaction. The zero value is invalid.
type Type uint8

// The types.
const (
	Payment Type = iota + 1 // money in
	Payout                  // money out
)

// String is the type as the protocol spells it.
func (t Type) String() string {
	switch t {
	case Payment:
		return "payment"
	case Payout:
		return "payout"
	}
	return "invalid"
}

// ParseType reads the protocol's spelling.
func ParseType(s string) (Type, bool) {
	switch s {
	case "payment":
		return Payment, true
	case "payout":
		return Payout, true
	}
	return 0, false
}

// Request is a create that passed validation. Raw fields are JSON as it was
// sent; nothing in it aliases a network buffer.
type Request struct {
	Type         Type
	TxID         string // empty: no idempotency
	Amount       money.Amount
	Asset        money.Asset // network resolved where it can be
	Description  string
	Described    bool   // a description was sent
	Customer     []byte // JSON object, nil if absent
	MerchantMeta []byte // JSON object, nil if absent
	Lang         string
	ReturnURL    string
	FailURL      string
	Method       string // money_storage type; empty: no credentials were sent
	CardBIN      string // first six digits of a card
	CardLast4    string
	CardPrint    string // keyed fingerprint of the number
}

// Record is a transaction as it is stored. Its version, times and what is due
// are in the store's envelope.
type Record struct {
	ID      ledger.ID
	Partner int64
	Request

	Status   Status
	Error    string // error_description, English
	Fee      money.Amount
	WithFee  money.Amount // amount_with_fee
	Dest     money.Amount // amount_dest
	Merchant money.Signed // merchant_amount

	Terminal  ledger.ID // zero: never routed
	Route     string    // the rail chosen
	ShownText string    // a terminal's own text in place of the description

	RRN       string
	Finished  ledger.Micros // zero: not final; late, kept in the store's envelope
	Unheard   uint8         // inquiries in a row that the provider answered with "unknown reference"
	Inquiries uint8         // inquiries without an answer: their gaps grow

	ReturnID   ledger.ID // the return's own transaction, once reversed
	ReversalOf ledger.ID // for a return: the transaction that it returns
}

// Answered tells whether the provider's first outcome is there: what a create waits for.
func (r *Record) Answered() bool {
	switch r.Status {
	case Created, New, Authorizing:
		return false
	}
	return true
}
