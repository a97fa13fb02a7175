package subscription

import (
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Bounds of what a partner may ask for.
const (
	MaxPeriodDays = 3_660   // ten years
	MaxMetadata   = 8 << 10 // bytes of metadata
)

// Record is a subscription as it is stored. Only its Standing ever changes, and what
// is counted of tidings. Its version, times and what is due are in the store's
// envelope.
type Record struct {
	ID      ledger.ID
	Partner int64
	Terms

	Terminal ledger.ID   // of the initial payment: where its credential can be charged
	Asset    money.Asset // of the initial payment: what the amount is an amount of

	Standing

	Notified   uint64 // events that the merchant was told of
	Unnotified uint64 // and those at which there was nobody to tell
}

// Terms are what a partner asks for.
type Terms struct {
	Initial    ledger.ID    // the payment whose stored credential is charged
	Amount     money.Amount // of a renewal, in minor units
	PeriodDays int
	Metadata   []byte // JSON object; nil: none
}

// Standing is how a subscription stands: all of it that changes.
type Standing struct {
	State  State
	Anchor ledger.Micros // when the next renewal is due by its period, as counted from the creation
	Next   ledger.Micros // when it is charged: at Anchor, or later where it was paused or not paid at once

	Renewals uint64    // that were paid
	Number   uint64    // of the last renewal that was begun; 0: none was. Those that were not paid count
	Last     ledger.ID // its transaction
	Failures uint8     // in a row, of the renewal that is due: it keeps them while it is paused; at most MaxAttempts
	Looks    uint8     // for what became of the one under way: their gaps grow
}

// Status is what merchants are shown: active, past_due, paused or cancelled.
func (s *Standing) Status() string {
	switch s.State {
	case Paused, PausedRenewing:
		return string(Paused)
	case Cancelled, CancelledRenewing:
		return string(Cancelled)
	}
	if s.Failures > 0 {
		return string(PastDue)
	}
	return string(Active)
}

// Statuses are all that Status says.
func Statuses() []string {
	return []string{string(Active), string(PastDue), string(Paused), string(Cancelled)}
}

// NextRenewal is when the next renewal is charged, or since when it waits for its
// partner to be active; false where there is none, and where that depends on how the
// one under way ends.
func (s *Standing) NextRenewal() (at ledger.Micros, ok bool) {
	switch s.State {
	case Active:
		return s.Next, true
	case PastDue:
		return s.Next, int(s.Failures) <= len(retries) // behind the last it is about to be paused
	}
	return 0, false
}

// Credential is what an initial payment has left.
type Credential struct {
	Terminal ledger.ID
	Asset    money.Asset
	Charged  bool // it is a payment that is charged
	Stored   bool // and its provider's token is kept
}

// Check calls refuse for everything that is wrong with the terms, by the names of
// the request's fields; found tells whether the partner has the initial payment.
// What was not sent at all is the caller's to refuse.
func (t *Terms) Check(of Credential, found bool, refuse func(field, detail string)) {
	const initial = "initial_payment_id"
	switch {
	case !found:
		refuse(initial, "there is no such payment")
	case !of.Charged:
		refuse(initial, "it is not a charged payment")
	case !of.Stored:
		refuse(initial, "the payment left no stored credential that could be charged again")
	}
	if t.Amount.IsZero() || ledger.MaxAmount.Less(t.Amount) {
		refuse("amount", "amount must be above zero and at most 10^72")
	}
	if t.PeriodDays < 1 || t.PeriodDays > MaxPeriodDays {
		refuse("period_days", "period_days must be from 1 to 3660")
	}
	if len(t.Metadata) > MaxMetadata {
		refuse("metadata", "metadata must be at most 8192 bytes")
	}
}

// period is the time between two renewals: days of 24 hours.
func (r *Record) period() time.Duration { return time.Duration(r.PeriodDays) * 24 * time.Hour }
