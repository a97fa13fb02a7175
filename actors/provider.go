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

// Operation is what a provider is asked to do with money.
type Operation uint8

// The operations. The zero value is invalid.
const (
	Pay      Operation = iota + 1 // money in: charge the payer
	PayOut                        // money out: pay the recipient
	Complete                      // go on with a charge whose payer has acted
	Capture                       // take what is held, or a part of it
	Void                          // give up a charge that has not settled, or a hold
	Refund                        // return settled money, or a part of it
)

// String is the operation as logs and the simulator's log name it.
func (o Operation) String() string {
	names := [...]string{"invalid", "payment", "payout", "complete", "capture", "void", "refund"}
	if int(o) < len(names) {
		return names[o]
	}
	return names[0]
}

// Call is one submission to a provider. Its intent is durable before it is made.
type Call struct {
	Org       ledger.ID
	Reference ledger.ID // what the provider knows the charge by: the transaction's id
	Operation Operation
	Request   ledger.ID // tells one Complete, Capture, Void or Refund of a charge from another; zero for Pay and PayOut
	Terminal  *directory.Terminal
	Amount    money.Amount // what the payer pays, what arrives, what is captured or refunded; zero for Complete and Void
	Asset     money.Asset  // the asset of Amount
	Method    string       // the money_storage type
	Hold      bool         // Pay and PayOut: authorise only; a Capture or a Void follows

	// Card is wiped by the caller when the call is over. For Complete it is what
	// was kept because the provider asked for it (Outcome.KeepCard): no CVV.
	Card *secret.Card

	Token secret.Text // Pay: what an earlier charge at the terminal was answered with (Outcome.Token), in place of a card

	// ReturnURL, if set, makes the address to which the rail sends the payer who
	// has acted. For Pay and PayOut; most charges never need it.
	ReturnURL func() string

	Material []byte // Complete: the JSON object that the payer's side submitted; nil: the payer came back from the rail
	Choice   string // Complete: the receiving institution that was chosen
	Browser  []byte // Pay: the JSON object browser_data; nil: none was sent

	Remembered // what is known of the charge that the call is about
}

// Remembered is what the record of a charge has kept for its provider, so that an
// adapter needs no memory of its own.
type Remembered struct {
	Since    time.Time    // no earlier than this was the charge submitted
	Charge   money.Amount // what the charge was submitted with
	Meta     []byte       // Outcome.Meta of the last answer that had one; nil: none had
	Returned money.Amount // Refund: what the refunds before have returned, in all
	Acting   bool         // what the payer has to do is known: an inquiry need not say it again
}

// LogValue implements slog.LogValuer: only what identifies the call.
func (c *Call) LogValue() slog.Value {
	return slog.GroupValue(slog.String("reference", c.Reference.String()), slog.String("operation", c.Operation.String()))
}

// Question asks what became of an operation.
type Question struct {
	Terminal  *directory.Terminal
	Reference ledger.ID
	Operation Operation // Pay or PayOut for the charge itself, whatever was completed since
	Request   ledger.ID
	Amount    money.Amount // what is captured or refunded; zero for a question about the charge itself

	Remembered
}

// Outcome is a provider's answer to a submission or an inquiry.
type Outcome struct {
	Verdict payment.Verdict
	Failure payment.Failure // for VerdictRefused, VerdictFailed and VerdictNotSent; without a code: CardDeclined of a refusal, else ProcessingError
	RRN     string          // retrieval reference number, 12 digits, for VerdictCharged and VerdictHeld
	Again   time.Duration   // for VerdictPending, VerdictUnknown and VerdictAction: when to inquire; 0: the provider time-out, or never for VerdictAction
	Status  payment.Status  // for VerdictPending: a status of the rail's own that it passes through; empty: charging, or refunding
	Meta    []byte          // JSON object of the rail's own keys, shown in merchant_meta; nil: none

	// Down says that the provider could not be reached or did not answer: it
	// counts against the terminal's circuit.
	Down bool

	// Token, for VerdictCharged, charges the same card again without its number. It
	// is as secret as that, and at most MaxToken bytes.
	Token secret.Text

	Action   *payment.Action // for VerdictAction; nil in an inquiry's answer: as it was
	KeepCard bool            // for VerdictAction: Complete needs the card again
}

// MaxToken bounds a provider's token, in bytes. A longer one is not kept.
const MaxToken = 512

// Report is what a rail says of a charge without being asked.
type Report struct {
	Org       ledger.ID
	Reference ledger.ID
	Terminal  ledger.ID
	At        time.Time
	What      Reported
	Failure   payment.Failure // without a code: ProcessingError of what is Corrected; of what is TakenBack only its Detail counts
}

// Reported is what a report is about. The zero value is invalid.
type Reported uint8

// What rails report.
const (
	TakenBack Reported = iota + 1 // settled money was returned
	Corrected                     // a charge that was refused had failed in truth
	Settled                       // money has moved after all, for a charge that was given up
)

// Provider is an adapter to one payment provider. Its methods are called from
// a bounded pool, never from an actor's goroutine, and may block until ctx ends.
type Provider interface {
	// Name is what a terminal's provider field says.
	Name() string
	// Accepts tells whether the adapter can serve a money_storage type.
	Accepts(operation Operation, method string) bool
	// Submit makes the call. A call with the same Terminal, Reference, Operation
	// and Request as an earlier one is that call again: it moves nothing twice.
	Submit(ctx context.Context, call *Call) Outcome
	// Inquire asks what became of an operation.
	Inquire(ctx context.Context, q *Question) Outcome
	// Reports lists what the rail reported in (since, until], oldest first.
	Reports(ctx context.Context, since, until time.Time) ([]Report, error)
}
