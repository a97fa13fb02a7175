package payment

import (
	"net/netip"
	"slices"
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

// String returns the type in the protocol's spelling.
func (t Type) String() string {
	switch t {
	case Payment:
		return "payment"
	case Payout:
		return "payout"
	}
	return "invalid"
}

// ParseType parses a type in the protocol's spelling.
func ParseType(s string) (Type, bool) {
	switch s {
	case "payment":
		return Payment, true
	case "payout":
		return Payout, true
	}
	return 0, false
}

// Request is a validated create request. JSON fields hold the bytes as sent. Nothing in it aliases a network
// buffer.
type Request struct {
	Type            Type
	TxID            string // the partner's unique id for the transaction; empty: none
	EmptyTxID       bool   // an empty txid was sent
	Amount          money.Amount
	Asset           money.Asset // network resolved if possible
	Description     string
	Described       bool   // a description was sent
	Customer        []byte // JSON object, nil if absent
	MerchantMeta    []byte // JSON object, nil if absent
	Lang            string
	ReturnURL       string
	FailURL         string
	Method          string // money_storage type; empty: no credentials were sent
	CardBIN         string // first six digits of a card
	CardLast4       string
	CardFingerprint string // keyed fingerprint of the number

	PayerIP   netip.Addr    // source of the payer's credentials; zero: unknown
	Attempted ledger.Micros // when routing began and limits counted the attempt; 0: never

	Renewal *Renewal  // nil: a caller requested the transaction
	LinkID  ledger.ID // the payment link that the transaction pays; zero: none
	Methods []string  // money_storage types that the payer may use, those of the link at the creation; nil: all

	// AgreedTotal is the total, fee included, that the payer saw before paying: no terminal may charge more. Zero: the
	// payer saw none.
	AgreedTotal money.Amount
}

// Allows tells whether the payer may use a money_storage type.
func (r *Request) Allows(method string) bool {
	return r.Methods == nil || slices.Contains(r.Methods, method)
}

// Record is the stored state of a transaction. Its version, times and due instant are in the store's row around it (the
// envelope).
type Record struct {
	ID      ledger.ID
	Partner int64
	Request

	Status          Status
	Failure         Failure // why the charge or the capture of a hold failed, or why the transaction was reversed
	Fee             money.Amount
	AmountWithFee   money.Amount // amount_with_fee
	DestAmount      money.Amount // amount_dest, in DestAsset
	MerchantAmount  money.Signed // merchant_amount
	Rate            money.Rate   // zero: not converted
	SettlementAsset money.Asset  // the asset of DestAmount if converted; else zero, and DestAmount is in Asset

	Terminal     ledger.ID // zero: never routed
	Priority     int       // the terminal's priority at routing
	Route        string    // the rail chosen
	TerminalText string    // the terminal's own text in place of the description
	Fees         Fees      // the terminal's fees at routing
	Attempts     []Attempt // earlier terminals that were passed over or that refused, in order
	Volumes      []Volume  // counters of volume limits that count the amount; nil: none, or none any more

	Hosted         bool           // created for the hosted page
	HostedUntil    ledger.Micros  // end of the payer's time on the hosted page; 0: not hosted
	HostedAttempts uint8          // how many attempts the payer has; 0: not decided, because no attempt was routed yet
	Ended          []EndedAttempt // earlier attempts of the payer, in order
	Reference      ledger.ID      // the provider's id of the charge; zero: the transaction's id (ChargeReference)
	GivenUp        bool           // somebody has asked to void the charge, so no further attempt follows

	TwoPhase            bool           // the money is held until commit or cancel
	HoldTTL             time.Duration  // how long the money may be held
	HoldUntil           ledger.Micros  // end of the hold; 0: not held
	Captured            money.Amount   // what a commit captured; zero if it captured nothing yet
	Refunded            money.Amount   // refunded part of the amount, in all
	RefundedFee         money.Amount   // part of the fee returned with refunds
	Refunds             []RefundRecord // requested refunds, the oldest first: at most MaxRefunds
	LastCommit          money.Amount   // amount of the last commit request; zero: there was none
	ConfirmedByProvider bool           // the provider has confirmed that it has the charge
	SettledLate         bool           // money moved after the transaction was closed
	TakenBackLate       bool           // the rail took that money back before it was returned

	Action   *Action // what the payer has to do; nil: nothing
	KeepCard bool    // the encrypted card stays stored for a later step
	Op       *Op     // the operation under way after the charge itself; nil: none
	RailMeta []byte  // JSON object of the rail's own keys; nil: none

	Token           []byte        // the provider's token for the charged card, encrypted; nil: none
	RRN             string        // retrieval reference number; empty: none
	Finished        ledger.Micros // when the status became final; 0: it is not final; stored in the row around the record
	NotFoundAnswers uint8         // consecutive inquiries that the provider answered with "unknown reference"
	Inquiries       uint8         // unanswered inquiries: the gaps between them grow

	Notified   uint32 // number of transitions of which the merchant was notified
	Unnotified uint32 // number of transitions without an address for notifications
	Unwanted   uint32 // number of transitions to statuses that the merchant has not selected

	ReturnID   ledger.ID // the return transaction, if this one was reversed
	ReversalOf ledger.ID // for a return: the transaction that it returns
	AttemptOf  ledger.ID // for money that moved for a charge that was refused: the charge's transaction
}

// Fees are a terminal's fees at routing.
type Fees struct {
	Bps        money.BasisPoints
	Fixed      money.Amount
	OnTop      bool // the payer pays the fee; else it is deducted from what the merchant receives
	Refundable bool
}

// Attempt is a terminal that did not take the transaction.
type Attempt struct {
	Terminal ledger.ID
	Failure  Failure // the reason; AttemptSkipped and AttemptExcluded have no code
	At       ledger.Micros
	Outcome  string       // one of the outcomes below
	Priority int          // the terminal's priority at that time
	Total    money.Amount // amount_with_fee at the terminal; zero unless the charge was sent there (WasRouted)
}

// WasRouted tells whether the transaction was routed to the terminal for its provider to charge. The provider then
// refused it, or the call never left.
func (a *Attempt) WasRouted() bool { return a.Outcome == AttemptRefused || a.Outcome == AttemptNotSent }

// Outcomes of an attempt.
const (
	AttemptRefused  = "refused"  // the provider declined
	AttemptNotSent  = "not_sent" // the call was never sent
	AttemptSkipped  = "skipped"  // it was passed over because its circuit breaker was open
	AttemptStopped  = "stopped"  // it was chosen, but another check rejected the transaction
	AttemptExcluded = "excluded" // it does not serve such a transaction, and no other was found
)

// Op is an operation on a charge that is under way at the provider.
type Op struct {
	Kind            OpKind
	ID              ledger.ID    // the operation's id at the provider
	Amount          money.Amount // amount to capture or to refund
	RefundedFee     money.Amount // part of the fee returned with a refund
	Answered        bool         // the provider has answered it once
	NotFoundAnswers uint8        // as Record.NotFoundAnswers, but for this operation
	Inquiries       uint8
	Why             Code   // code of the failure that a void leads to
	Late            bool   // the refund of a late settlement
	From            Status // status to return to after a refused refund
	Choice          string // the receiving institution that the payer chose
}

// OpKind is the kind of an Op. The zero value is invalid.
type OpKind uint8

// The operations on a charge.
const (
	OpComplete OpKind = iota + 1
	OpCapture
	OpVoid
	OpRefund
)

// DestAsset returns the asset of DestAmount.
func (r *Record) DestAsset() money.Asset {
	if r.Rate.IsZero() {
		return r.Asset
	}
	return r.SettlementAsset
}

// Settled returns the amount for which a charge settled: the captured amount if money was held, else the whole
// amount.
func (r *Record) Settled() money.Amount {
	if r.Captured.IsZero() {
		return r.Amount
	}
	return r.Captured
}

// ReportedUnknown tells whether the provider has reported once that the charge or operation never arrived.
func (r *Record) ReportedUnknown() bool {
	return r.NotFoundAnswers > 0 || r.Op != nil && r.Op.NotFoundAnswers > 0
}

// Answered tells whether the provider has answered the last submission. Callers wait for the first answer.
func (r *Record) Answered() bool {
	switch r.Status {
	case New, Authorizing:
		return false
	case Created:
		return r.Hosted
	}
	return r.Op == nil || r.Op.Answered
}
