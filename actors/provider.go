package actors

import (
	"context"
	"log/slog"
	"time"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Operation is the kind of a request to a provider.
type Operation uint8

// The operations. The zero value is invalid.
const (
	Pay      Operation = iota + 1 // money in: charge the payer
	PayOut                        // money out: pay the recipient
	Complete                      // continue a charge after the payer has acted
	Capture                       // take held money, or a part of it
	Void                          // cancel a charge that has not settled, or release a hold
	Refund                        // return settled money, or a part of it
)

// String returns the operation's name in logs and in the simulator's log.
func (o Operation) String() string {
	names := [...]string{"invalid", "payment", "payout", "complete", "capture", "void", "refund"}
	if int(o) < len(names) {
		return names[o]
	}
	return names[0]
}

// Call is one submission to a provider. The intent (the event that announces the call) is durable before the call.
type Call struct {
	Org       ledger.ID
	Reference ledger.ID // the id by which the provider knows the charge: the transaction's id or, for a later attempt of a hosted payment, the attempt's id
	Operation Operation
	Request   ledger.ID // distinguishes the Complete, Capture, Void and Refund calls of a charge; zero for Pay and PayOut
	Terminal  *directory.Terminal
	Amount    money.Amount // the amount that is paid, captured or refunded; zero for Complete and Void
	Asset     money.Asset  // the asset of Amount
	Method    string       // the money_storage type
	Hold      bool         // for Pay and PayOut: authorise only; a Capture or a Void follows

	// The caller wipes Card after the call. For Complete, Card is set only if the provider asked for the card again
	// (Outcome.KeepCard); it then has no CVV.
	Card *secret.Card

	Token secret.Text // for Pay: the token of an earlier charge at the terminal (Outcome.Token), in place of a card

	// ReturnURL, if set, returns the address to which the rail (the payment network) sends the payer back after the
	// payer has acted. ReturnURL is set for Pay and PayOut only; most charges never need it.
	ReturnURL func() string

	Material []byte // for Complete: the JSON object that the payer's side submitted; nil if the payer came back from the rail
	Choice   string // for Complete: the receiving institution that was chosen
	Browser  []byte // for Pay: the JSON object browser_data; nil if none was sent

	// Repetition is 0 for the first submission, and different for each later submission of the same charge or operation,
	// which follows only after inquiries that have not found it. It is stored before the submission. A charge that was
	// prepared (payment.VerdictPrepared) is submitted again with the same Repetition.
	Repetition uint8

	ChargeState // the stored state of the charge
}

// ChargeState is the part of a charge's record that is stored for its provider, so that an adapter
// needs no memory of its own.
type ChargeState struct {
	SubmittedSince time.Time    // earliest time at which the charge can have been submitted
	ChargedAmount  money.Amount // the amount that the charge was submitted with
	Meta           []byte       // the last Outcome.Meta that was set; nil if none was
	RefundedAmount money.Amount // for Refund: total of the earlier refunds
	RequestedAt    time.Time    // for Refund: when the refund was requested, before its first submission; otherwise zero
	ActionKnown    bool         // the record already says what the payer must do, so an inquiry need not return it again
}

// LogValue implements slog.LogValuer. It shows only the call's reference and operation.
func (c *Call) LogValue() slog.Value {
	return slog.GroupValue(slog.String("reference", c.Reference.String()), slog.String("operation", c.Operation.String()))
}

// Inquiry asks for the result of an operation.
type Inquiry struct {
	Terminal  *directory.Terminal
	Reference ledger.ID
	Operation Operation // the operation whose result is wanted; for the charge itself Pay or PayOut, even after a Complete
	Request   ledger.ID
	Amount    money.Amount // the amount that is captured or refunded; zero if the inquiry is about the charge itself

	ChargeState
}

// Outcome is a provider's reply to a submission or an inquiry.
type Outcome struct {
	Verdict payment.Verdict
	// Failure is set for VerdictRefused, VerdictFailed and VerdictNotSent. A missing code means CardDeclined for
	// VerdictRefused, and ProcessingError otherwise.
	Failure payment.Failure
	RRN     string // retrieval reference number, 12 digits, for VerdictCharged and VerdictHeld
	// InquireAfter, for VerdictPending, VerdictUnknown and VerdictAction, is how long to wait before an inquiry. If it is 0,
	// the wait is the provider time-out, but for VerdictAction there is no inquiry.
	InquireAfter time.Duration
	// Status, for VerdictPending, is the status that the rail reports and the merchant sees. If it is empty, the status is
	// charging or refunding.
	Status payment.Status
	Meta   []byte // JSON object with the rail's own keys, shown in merchant_meta; nil if none

	// Unreachable says that the provider could not be reached or did not answer. It counts as a failure
	// for the terminal's circuit breaker.
	Unreachable bool

	// Token, for VerdictCharged, charges the same card again without its number. It is as secret as
	// the number, and at most MaxToken bytes long.
	Token secret.Text

	Action   *payment.Action // for VerdictAction; nil in an inquiry's outcome means that the action is unchanged
	KeepCard bool            // for VerdictAction: Complete needs the card again
}

// MaxToken is the maximum length of a provider's token in bytes. A longer token is not kept.
const MaxToken = 512

// Report is news about a charge, which the rail (the payment network) sends without being asked.
type Report struct {
	Org       ledger.ID
	Reference ledger.ID
	Terminal  ledger.ID
	At        time.Time
	Kind      ReportKind
	Failure   payment.Failure // for Correction, a missing code means ProcessingError; for Reversal, only the Detail is used
}

// ReportKind is the kind of a report. The zero value is invalid.
type ReportKind uint8

// The kinds of reports.
const (
	Reversal       ReportKind = iota + 1 // settled money was returned
	Correction                           // a charge that was reported as refused has in fact failed
	LateSettlement                       // the service had given up a charge, but the money has moved after all
	Change                               // something has changed at the provider, so that it must be asked about the charge
)

// Notification is a message that the server of a terminal's provider has sent. Nothing in it is trusted before it is verified.
type Notification struct {
	Signature string // the header in which the server proves who it is; empty if none was sent
	Body      []byte
}

// News is what a verified notification says: it has an id, and is about some charges of the terminal.
type News struct {
	ID         string // equal if the notification is sent again; empty if there is no id
	References []ledger.ID
}

// NotificationReader is implemented by adapters whose providers send notifications in a form of their own.
type NotificationReader interface {
	// ReadNotification verifies a notification and returns what it says. The error is a *ledger.Refusal: Unauthorized if the
	// server of the terminal's provider has not signed the notification recently, Invalid if the body has another form than the
	// provider's, and Unavailable if the provider must be asked what the notification is about and does not answer.
	ReadNotification(ctx context.Context, terminal *directory.Terminal, n *Notification) (News, error)
}

// LocalProvider is implemented by adapters that make some calls inside this process.
type LocalProvider interface {
	// IsLocal tells whether Submit of the operation waits only for this machine's memory and disk, not for a network or another
	// program. Such a call does not run on the pool but on the goroutine of the request that waits for its outcome. So even if
	// the caller's deadline passes during the call, the caller gets an answer only after the call.
	IsLocal(Operation) bool
}

// CardCollector is implemented by adapters whose rail can ask the payer for the card itself, so that its number never reaches this
// service.
type CardCollector interface {
	// CollectsCards tells whether the payer gives the card to the rail when a payment at the terminal is entered on a page of this
	// service. Submit then gets neither a card nor a token, and answers with payment.VerdictAction.
	CollectsCards(t *directory.Terminal) bool
}

// Provider is an adapter to one payment provider. Its methods run on a bounded pool or, for a LocalProvider, on the goroutine
// of a waiting request, never on a goroutine that runs the actor. The methods may block until ctx ends.
type Provider interface {
	// Name returns the value of a terminal's provider field that selects this adapter.
	Name() string
	// Accepts tells whether the adapter can carry out an operation for a method (a money_storage type).
	Accepts(operation Operation, method string) bool
	// Submit makes the call. A call with the same Terminal, Reference, Operation and Request as an
	// earlier call repeats that call; the money moves only once.
	Submit(ctx context.Context, call *Call) Outcome
	// Inquire asks for the result of an operation.
	Inquire(ctx context.Context, q *Inquiry) Outcome
	// Reports lists the rail's reports that are later than since and not later than until, oldest
	// first.
	Reports(ctx context.Context, since, until time.Time) ([]Report, error)
}
