package payment

import (
	"net/netip"
	"time"

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
	EmptyTxID    bool   // an empty one was sent
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

	PayerIP   netip.Addr    // where the payer's credentials came from; the zero value: not known
	Attempted ledger.Micros // when it was to be routed, so that limits judged it; 0: it never was

	Renewal *Renewal // nil: a caller's
}

// Record is a transaction as it is stored. Its version, times and what is due
// are in the store's envelope.
type Record struct {
	ID      ledger.ID
	Partner int64
	Request

	Status   Status
	Failure  Failure // why it is not charged; of a hold, why its capture failed; of a reversed one, why it was taken back
	Fee      money.Amount
	WithFee  money.Amount // amount_with_fee
	Dest     money.Amount // amount_dest, in DestAsset
	Merchant money.Signed // merchant_amount
	Rate     money.Rate   // zero: not converted
	Settles  money.Asset  // what Dest is in, when converted; the zero value: Asset

	Terminal  ledger.ID // zero: never routed
	Priority  int       // the terminal's at routing
	Route     string    // the rail chosen
	ShownText string    // a terminal's own text in place of the description
	Fees      Fees      // the terminal's, as they were at routing
	Attempts  []Attempt // terminals that were passed over, or refused, before this one, in order
	Volumes   []Volume  // what the amount counts towards; nil once it does no more

	Hosted      bool           // begun for the hosted page
	TwoPhase    bool           // the money is held until commit or cancel
	HoldTTL     time.Duration  // how long it may be held
	HoldUntil   ledger.Micros  // until when it is held; 0: it is not
	Captured    money.Amount   // what a commit captured; zero: not two-phase, or not yet
	Refunded    money.Amount   // of the amount, in all
	FeeBack     money.Amount   // of the fee, returned with refunds
	Refunds     []RefundRecord // those that were asked for, the oldest first: at most MaxRefunds
	LastCommit  money.Amount   // what the last commit asked for; zero: there was none
	Known       bool           // the provider has said that it has the charge
	SettledLate bool           // money moved after it was closed
	LinkID      ledger.ID      // the payment link that produced it; zero: none

	Action   *Action // what the payer has to do; nil: nothing
	KeepCard bool    // the card is kept, sealed, for a later step
	Op       *Op     // what is being asked of the provider after the charge itself; nil: nothing
	RailMeta []byte  // JSON object of the rail's own keys; nil: none

	Token     []byte // of the provider for the card that was charged, sealed; nil: it gave none
	RRN       string
	Finished  ledger.Micros // zero: not final; late, kept in the store's envelope
	Unheard   uint8         // inquiries in a row that the provider answered with "unknown reference"
	Inquiries uint8         // inquiries without an answer: their gaps grow

	Told     uint32 // transitions of which the merchant was notified
	Untold   uint32 // those at which there was nobody to notify
	Unwanted uint32 // and those of whose status the merchant is not notified

	ReturnID   ledger.ID // the return's own transaction, once reversed
	ReversalOf ledger.ID // for a return: the transaction that it returns
}

// Fees are a terminal's terms for what it moves.
type Fees struct {
	Bps        money.BasisPoints
	Fixed      money.Amount
	OnTop      bool // the payer pays them; else the merchant receives less
	Refundable bool
}

// Attempt is a terminal that did not take the transaction.
type Attempt struct {
	Terminal ledger.ID
	Failure  Failure // why it did not; for AttemptSkipped and AttemptExcluded without a code
	At       ledger.Micros
	Outcome  string // one of those below
	Priority int    // the terminal's, at that time
}

// The outcomes of an attempt.
const (
	AttemptRefused  = "refused"  // the provider declined
	AttemptNotSent  = "not_sent" // the call never left
	AttemptSkipped  = "skipped"  // its circuit was open
	AttemptStopped  = "stopped"  // it was chosen, and something else spoke against the transaction
	AttemptExcluded = "excluded" // it does not serve such a transaction, and no other was found
)

// Op is an operation on a charge that is under way at the provider.
type Op struct {
	Kind      OpKind
	Request   ledger.ID    // what the provider knows it by
	Amount    money.Amount // captured or refunded
	FeeBack   money.Amount // of the fee, returned with a refund
	Heard     bool         // there was a first answer
	Unheard   uint8        // as of the record, for this operation
	Inquiries uint8
	Why       Code   // of what a void leads to
	Late      bool   // the refund of a late settlement
	From      Status // to go back to when a refund is refused
	Choice    string // the receiving institution that was chosen
}

// OpKind is what an Op does. The zero value is invalid.
type OpKind uint8

// The operations on a charge.
const (
	OpComplete OpKind = iota + 1
	OpCapture
	OpVoid
	OpRefund
)

// DestAsset is what Dest is an amount of.
func (r *Record) DestAsset() money.Asset {
	if r.Rate.IsZero() {
		return r.Asset
	}
	return r.Settles
}

// Settled is the amount that a charge settled for: what was captured, where a
// hold was.
func (r *Record) Settled() money.Amount {
	if r.Captured.IsZero() {
		return r.Amount
	}
	return r.Captured
}

// NotKnown tells whether the provider has said once that what was asked of it
// never arrived.
func (r *Record) NotKnown() bool { return r.Unheard > 0 || r.Op != nil && r.Op.Unheard > 0 }

// Answered tells whether the provider's first answer to what was asked last is
// there: what a caller waits for.
func (r *Record) Answered() bool {
	switch r.Status {
	case New, Authorizing:
		return false
	case Created:
		return r.Hosted
	}
	return r.Op == nil || r.Op.Heard
}
