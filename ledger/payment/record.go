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
	Payment Type = iota + 1 // incoming money
	Payout                  // outgoing money
)

// String returns the type as the API spells it.
func (t Type) String() string {
	switch t {
	case Payment:
		return "payment"
	case Payout:
		return "payout"
	}
	return "invalid"
}

// ParseType parses a type as the API spells it.
func ParseType(s string) (Type, bool) {
	switch s {
	case "payment":
		return Payment, true
	case "payout":
		return Payout, true
	}
	return 0, false
}

// Request is a validated create request. Fields with JSON have the bytes of the request. No field aliases a network buffer.
type Request struct {
	Type            Type
	TxID            string // the partner's unique id for the transaction; empty: none
	EmptyTxID       bool   // the request had an empty txid
	Amount          money.Amount
	Asset           money.Asset // with the network, if it is known
	Description     string
	Described       bool   // the request had a description
	Customer        []byte // JSON object, nil if absent
	MerchantMeta    []byte // JSON object, nil if absent
	Lang            string
	ReturnURL       string
	FailURL         string
	Method          string // money_storage type; empty: the request had no credentials
	CardBIN         string // first six digits of a card
	CardLast4       string
	CardFingerprint string // keyed fingerprint of the card number

	PayerIP   netip.Addr    // IP address from which the payer's credentials came; zero: unknown
	Attempted ledger.Micros // when routing began and limits counted the attempt; 0: it did not begin

	Renewal *Renewal  // the subscription's renewal; nil: a client requested the transaction
	LinkID  ledger.ID // the payment link that the transaction pays; zero: none
	Methods []string  // money_storage types that the payer may use, copied from the link at the creation; nil: all

	// AgreedTotal is the total, fee included, that the payer saw before paying. No terminal may charge more. Zero: the payer
	// saw no total.
	AgreedTotal money.Amount
}

// Allows tells whether the payer may use a method (a money_storage type).
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
	RejectedAs      Code    // after a correction (Correct): the code of the earlier rejection; else empty
	Fee             money.Amount
	AmountWithFee   money.Amount // the API's amount_with_fee
	DestAmount      money.Amount // the API's amount_dest, in DestAsset
	MerchantAmount  money.Signed // the API's merchant_amount
	Rate            money.Rate   // exchange rate; zero: not converted
	SettlementAsset money.Asset  // asset of a converted DestAmount; zero: not converted, and DestAmount is in Asset

	Terminal     ledger.ID // zero: not routed
	Priority     int       // the terminal's priority at routing
	Route        string    // name of the rail
	TerminalText string    // the terminal's own text, shown instead of the description
	Fees         Fees      // the terminal's fees at routing
	Attempts     []Attempt // earlier terminals that were passed over or refused, in order
	Volumes      []Volume  // volume limits that count the amount at present; nil: none

	Hosted         bool           // the payer pays on the hosted page
	HostedUntil    ledger.Micros  // end of the payer's time on the hosted page; 0: not hosted
	HostedAttempts uint8          // how many attempts the payer has in all; 0: not known before the first attempt is routed
	Ended          []EndedAttempt // earlier attempts of the payer, in order
	Reference      ledger.ID      // id of the charge at the provider; zero: it is the transaction's id (ChargeReference)
	GivenUp        bool           // a void of the charge was requested, so no further attempt follows

	TwoPhase            bool           // the money is first held, until commit or cancel
	HoldTTL             time.Duration  // how long the money may be held
	HoldUntil           ledger.Micros  // end of the hold; 0: not held
	Captured            money.Amount   // the amount that a commit captured; zero: none
	Refunded            money.Amount   // total of the refunded parts of the amount
	RefundedFee         money.Amount   // total of the parts of the fee that were returned with refunds
	Refunds             []RefundRecord // requested refunds, oldest first, at most MaxRefunds
	LastCommit          money.Amount   // amount of the last commit request; zero: there was none
	ConfirmedByProvider bool           // the provider has confirmed that it has the charge
	LateSettlement      bool           // money moved after the transaction was closed
	LateChargeback      bool           // the rail took the late money back before it was returned

	Action   *Action // the payer's next action; nil: none
	KeepCard bool    // the encrypted card stays stored, because a later step needs it
	Op       *Op     // operation under way after the submission of the charge; nil: none
	RailMeta []byte  // JSON object of the rail's own keys; nil: none

	Token           []byte        // the provider's token for the charged card, encrypted; nil: none
	RRN             string        // retrieval reference number; empty: none
	Finished        ledger.Micros // when the status became final; 0: it is not final; stored in the row around the record
	NotFoundAnswers uint8         // consecutive inquiries that the provider answered with "unknown reference"
	Inquiries       uint8         // number of unanswered inquiries; the more, the longer the gap to the next one

	Notified   uint32 // number of changes of which the merchant was notified
	Unnotified uint32 // number of changes without a notification for lack of an address
	Unwanted   uint32 // number of changes to statuses of which the merchant wants no notification

	ReturnID   ledger.ID // the return transaction, if this one was reversed
	ReversalOf ledger.ID // of a return: the transaction that it returns
	AttemptOf  ledger.ID // for money that a refused charge has moved (SettleAttempt): the charge's transaction
}

// Fees are a terminal's fees at the time of routing.
type Fees struct {
	Bps        money.BasisPoints
	Fixed      money.Amount
	OnTop      bool // the payer pays the fee; else it is deducted from the merchant's part
	Refundable bool
}

// Attempt is a terminal that was considered for the transaction but did not take it.
type Attempt struct {
	Terminal ledger.ID
	Failure  Failure // the reason; AttemptSkipped and AttemptExcluded have no code
	At       ledger.Micros
	Outcome  string       // one of the constants Attempt…
	Priority int          // the terminal's priority at that time
	Total    money.Amount // amount_with_fee at the terminal; zero if the charge was not sent there (WasRouted)
}

// WasRouted tells whether the transaction was routed to the terminal so that its provider would charge it. The provider then
// refused, or the call was never sent.
func (a *Attempt) WasRouted() bool { return a.Outcome == AttemptRefused || a.Outcome == AttemptNotSent }

// Outcomes of an attempt.
const (
	AttemptRefused  = "refused"  // the provider declined
	AttemptNotSent  = "not_sent" // the call was never sent
	AttemptSkipped  = "skipped"  // passed over because its circuit breaker was open
	AttemptStopped  = "stopped"  // chosen, but another check rejected the transaction
	AttemptExcluded = "excluded" // does not serve such a transaction, and no other terminal was found
)

// Op is an operation on a charge that is under way at the provider.
type Op struct {
	Kind            OpKind
	ID              ledger.ID    // the operation's id at the provider
	Amount          money.Amount // amount to capture or to refund
	RefundedFee     money.Amount // part of the fee returned with a refund
	Answered        bool         // the provider has answered the operation once
	NotFoundAnswers uint8        // number of answers in a row that the operation never arrived
	Inquiries       uint8
	Why             Code   // of a void: the transaction's failure code if the void succeeds
	Late            bool   // of a refund: it returns money on the suspense account
	From            Status // status before the operation; a refused refund returns to it
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

// ReportedUnknown tells whether the provider's last answer said that the charge or the operation never arrived.
func (r *Record) ReportedUnknown() bool {
	return r.NotFoundAnswers > 0 || r.Op != nil && r.Op.NotFoundAnswers > 0
}

// Answered tells whether the provider has answered the last submission. The client's request waits for the first answer.
func (r *Record) Answered() bool {
	switch r.Status {
	case New, Authorizing:
		return false
	case Created:
		return r.Hosted
	}
	return r.Op == nil || r.Op.Answered
}
