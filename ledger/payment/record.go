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

// String returns the type in the API's spelling.
func (t Type) String() string {
	switch t {
	case Payment:
		return "payment"
	case Payout:
		return "payout"
	}
	return "invalid"
}

// ParseType parses a type in the API's spelling.
func ParseType(s string) (Type, bool) {
	switch s {
	case "payment":
		return Payment, true
	case "payout":
		return Payout, true
	}
	return 0, false
}

// Request is a validated create request. Fields with JSON contain the unchanged bytes of the client's request. No field
// aliases a network buffer.
type Request struct {
	Type            Type
	TxID            string // the partner's unique id for the transaction; empty if none
	EmptyTxID       bool   // whether the request had an empty txid
	Amount          money.Amount
	Asset           money.Asset // includes the network if it is known
	Description     string
	HasDescription  bool   // whether the request had a description
	Customer        []byte // JSON object, nil if absent
	MerchantMeta    []byte // JSON object, nil if absent
	Lang            string
	ReturnURL       string
	FailURL         string
	Method          string // money_storage type; empty if the request had no credentials
	CardBIN         string // first six digits of a card
	CardLast4       string
	CardFingerprint string // keyed fingerprint of the card number

	PayerIP     netip.Addr    // IP address from which the payer's credentials came; zero if unknown
	AttemptedAt ledger.Micros // when routing began and limits counted the attempt; 0 if routing has not begun

	Renewal *Renewal  // set for a subscription's renewal; nil if a client requested the transaction
	LinkID  ledger.ID // the payment link that the transaction pays; zero if none
	Methods []string  // money_storage types that the payer may use, copied from the payment link; nil if all

	// AgreedTotal is the total, fee included, that the payer saw before paying. No terminal may charge more. It is zero
	// if the payer saw no total.
	AgreedTotal money.Amount
}

// Allows tells whether the payer may use a method (a money_storage type).
func (r *Request) Allows(method string) bool {
	return r.Methods == nil || slices.Contains(r.Methods, method)
}

// Record is the stored state of a transaction. The version, the times and the due instant are not part of it: the store
// keeps them in the row that contains the record (the envelope).
type Record struct {
	ID      ledger.ID
	Partner int64
	Request

	Status            Status
	Failure           Failure // why the charge or the capture of a hold failed, or why the transaction was reversed
	OriginalRejection Code    // after a correction (event Correct): the code of the earlier rejection; otherwise empty
	Fee               money.Amount
	AmountWithFee     money.Amount // the API's amount_with_fee
	DestAmount        money.Amount // the API's amount_dest, in DestAsset
	MerchantAmount    money.Signed // the API's merchant_amount
	Rate              money.Rate   // exchange rate; zero if not converted
	SettlementAsset   money.Asset  // asset of a converted DestAmount; zero if DestAmount is not converted, so that it is in Asset

	Terminal     ledger.ID // zero if not routed
	Priority     int       // the terminal's priority at routing
	Route        string    // name of the rail
	TerminalText string    // the terminal's own text, shown instead of the description
	Fees         Fees      // the terminal's fees at routing
	Attempts     []Attempt // earlier terminals that were skipped or that refused, in order
	Volumes      []Volume  // volume limits that currently count the amount; nil if none

	Hosted         bool           // whether the payer pays on the hosted page
	HostedUntil    ledger.Micros  // deadline of the payer on the hosted page; 0 if not hosted
	HostedAttempts uint8          // total number of attempts that the payer may make; 0 until the first attempt is routed
	EndedAttempts  []EndedAttempt // earlier attempts of the payer, in order
	Reference      ledger.ID      // id of the charge at the provider; zero if it is the transaction's id (ChargeReference)
	VoidRequested  bool           // whether a void of the charge was requested, so that no further attempt follows

	TwoPhase            bool           // whether the money is first held, until commit or cancel
	HoldTTL             time.Duration  // how long the money may be held
	HoldUntil           ledger.Micros  // end of the hold; 0 if not held
	CapturedAmount      money.Amount   // the amount that a commit captured; zero if none
	RefundedAmount      money.Amount   // sum of the refunded amounts, without fees
	RefundedFee         money.Amount   // sum of the fees returned with refunds
	Refunds             []RefundRecord // requested refunds, oldest first, at most MaxRefunds
	LastCommit          money.Amount   // amount of the last commit request; zero if none
	ConfirmedByProvider bool           // whether the provider has confirmed that it has received the charge
	LateSettlement      bool           // whether money moved after the transaction was closed
	LateChargeback      bool           // whether the rail took such late money back before it was refunded

	Action   *Action // the payer's next action; nil if none
	KeepCard bool    // whether the encrypted card must stay stored for a later step
	Op       *Op     // operation that is under way on the charge; nil if none
	RailMeta []byte  // JSON object with the rail's own keys; nil if none

	Token           []byte        // the provider's token for the charged card, encrypted; nil: none
	RRN             string        // retrieval reference number; empty if none
	FinishedAt      ledger.Micros // when the status became final, from the envelope; 0 if it is not final
	NotFoundAnswers uint8         // consecutive inquiries that the provider answered with "unknown reference"
	Inquiries       uint8         // number of doublings of the delay before the next inquiry, at most maxBackOff

	NotifiedChanges   uint32 // number of the transaction's changes of which the merchant was notified
	UnnotifiedChanges uint32 // number of changes that the merchant selected but was not notified of, for example without an address
	UnselectedChanges uint32 // number of changes without a notification, because the merchant does not want one

	ReturnID   ledger.ID // the return, if this transaction was reversed
	ReversalOf ledger.ID // in a return: the transaction that was reversed
	AttemptOf  ledger.ID // if SettleAttempt created this transaction: the transaction of the refused charge
}

// Fees are a terminal's fees at the time of routing.
type Fees struct {
	Bps        money.BasisPoints
	Fixed      money.Amount
	OnTop      bool // whether the payer pays the fee; otherwise it is deducted from the merchant's part
	Refundable bool
}

// Attempt describes a terminal that was considered for the transaction, and why it did not process the transaction.
type Attempt struct {
	Terminal ledger.ID
	Failure  Failure // the reason; AttemptSkipped and AttemptExcluded have no code
	At       ledger.Micros
	Outcome  string       // one of the constants Attempt…
	Priority int          // the terminal's priority at that time
	Total    money.Amount // amount_with_fee at the terminal; zero if the transaction was not routed to it (WasRouted)
}

// WasRouted tells whether the transaction was routed to the terminal. Then the terminal's provider refused the charge, or
// the call to the provider was never sent.
func (a *Attempt) WasRouted() bool { return a.Outcome == AttemptRefused || a.Outcome == AttemptNotSent }

// Outcomes of an attempt.
const (
	AttemptRefused  = "refused"  // the provider declined
	AttemptNotSent  = "not_sent" // the call was never sent
	AttemptSkipped  = "skipped"  // skipped because the terminal's circuit breaker was open
	AttemptStopped  = "stopped"  // the terminal was chosen, but another check rejected the transaction
	AttemptExcluded = "excluded" // the terminal does not serve such transactions, and no other terminal was found
)

// Op is an operation, such as a capture or a refund, that is under way on a charge at the provider.
type Op struct {
	Kind            OpKind
	ID              ledger.ID    // the operation's id at the provider
	Amount          money.Amount // amount to capture or to refund
	RefundedFee     money.Amount // part of the fee that a refund returns
	Answered        bool         // whether the provider has answered at least once
	NotFoundAnswers uint8        // number of consecutive answers that the operation never arrived
	Inquiries       uint8
	Why             Code   // for a void: the failure code of the transaction if the void succeeds
	FromSuspense    bool   // for a refund: whether it returns money on the suspense account
	From            Status // status when the operation began
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

// SettledAmount returns the amount of a settled charge: the captured amount if money was held before, and otherwise the
// whole amount.
func (r *Record) SettledAmount() money.Amount {
	if r.CapturedAmount.IsZero() {
		return r.Amount
	}
	return r.CapturedAmount
}

// ReportedUnknown tells whether the provider said in its last answer that the charge, or the operation under way, never
// arrived.
func (r *Record) ReportedUnknown() bool {
	return r.NotFoundAnswers > 0 || r.Op != nil && r.Op.NotFoundAnswers > 0
}

// HasAnswer tells whether the provider has answered the last submission at least once. The response to the client waits
// for that answer.
func (r *Record) HasAnswer() bool {
	switch r.Status {
	case New, Authorizing:
		return false
	case Created:
		return r.Hosted
	}
	return r.Op == nil || r.Op.Answered
}
