package actors

import (
	"context"
	"log/slog"
	"time"

	"mizan/internal/secret"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

// Operation is what a provider is asked to do with money.
type Operation uint8

// The operations. The zero value is invalid.
const (
	Pay    Operation = iota + 1 // money in: charge the payer
	PayOut                      // money out: pay the recipient
)

// String is the operation as logs and the simulator's log name it.
func (o Operation) String() string {
	switch o {
	case Pay:
		return "payment"
	case PayOut:
		return "payout"
	}
	return "invalid"
}

// Call is one submission to a provider. Its intent is durable before it is made.
type Call struct {
	Org       ledger.ID
	Reference ledger.ID // what the provider will know it by: the transaction's id
	Operation Operation
	Terminal  *directory.Terminal
	Amount    money.Amount // what the payer pays, or what arrives, in Asset's minor units
	Asset     money.Asset
	Method    string // the money_storage type
	Card      *secret.Card
}

// LogValue implements slog.LogValuer: only what identifies the call.
func (c *Call) LogValue() slog.Value {
	return slog.GroupValue(slog.String("reference", c.Reference.String()), slog.String("operation", c.Operation.String()))
}

// Verdict is what a provider says of a call.
type Verdict uint8

// The verdicts. The zero value is invalid.
const (
	VerdictCharged  Verdict = iota + 1 // money moved
	VerdictPending                     // accepted, the rail still moves the money
	VerdictRefused                     // nothing moved and nothing will: declined
	VerdictFailed                      // nothing moved: a processing error
	VerdictUnknown                     // time-out or broken connection: inquire, never assume
	VerdictNotFound                    // an inquiry's answer: the reference never arrived
)

// String names the verdict.
func (v Verdict) String() string {
	names := [...]string{"invalid", "charged", "pending", "refused", "failed", "unknown", "unknown_reference"}
	if int(v) < len(names) {
		return names[v]
	}
	return names[0]
}

// Outcome is a provider's answer to a submission or an inquiry.
type Outcome struct {
	Verdict Verdict
	Reason  string        // for VerdictRefused and VerdictFailed, for example "card_declined"
	RRN     string        // retrieval reference number, 12 digits, for VerdictCharged
	Again   time.Duration // for VerdictPending and VerdictUnknown: when to inquire; 0: the provider time-out
}

// Reversal is settled money that a rail took back.
type Reversal struct {
	Org       ledger.ID
	Reference ledger.ID // of the charge
	At        time.Time
	Reason    string
}

// Provider is an adapter to one payment provider. Its methods are called from
// a bounded pool, never from an actor's goroutine, and may block until ctx ends.
type Provider interface {
	// Name is what a terminal's provider field says.
	Name() string
	// Accepts tells whether the adapter can serve a money_storage type.
	Accepts(operation Operation, method string) bool
	// Submit makes the call once.
	Submit(ctx context.Context, call *Call) Outcome
	// Inquire asks what became of a call.
	Inquire(ctx context.Context, terminal *directory.Terminal, reference ledger.ID) Outcome
	// Reversals lists settled calls taken back in [since, until], oldest first.
	Reversals(ctx context.Context, since, until time.Time) ([]Reversal, error)
}
