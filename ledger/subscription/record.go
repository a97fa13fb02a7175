package subscription

import (
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Largest values in a partner's request.
const (
	MaxPeriodDays = 3_660   // ten years
	MaxMetadata   = 8 << 10 // bytes of metadata
)

// Record is the stored state of a subscription. Only Progress, NotifiedEvents and UnnotifiedEvents change. The record's
// version, times and due instant are not fields, because the journal's writer stores them beside the record.
type Record struct {
	ID      ledger.ID
	Partner int64
	Terms

	Terminal ledger.ID   // terminal of the initial payment, which can charge the credential
	Asset    money.Asset // asset of the initial payment and of Amount

	Progress

	NotifiedEvents   uint64 // number of events of which the merchant was notified
	UnnotifiedEvents uint64 // number of events of which the merchant was not notified, because it had no address
}

// Terms are what a partner asks for when it requests a subscription.
type Terms struct {
	InitialPayment ledger.ID    // the payment whose stored credential is charged
	Amount         money.Amount // the amount of a renewal, in minor units
	PeriodDays     int
	Metadata       []byte // JSON object; nil: none
}

// Progress contains the fields of a subscription that change.
type Progress struct {
	State      State
	Anchor     ledger.Micros // when the next renewal is due, a whole number of periods after the creation
	NextCharge ledger.Micros // when the next attempt is made: at Anchor, or later after a pause or a failed attempt

	Renewals        uint64    // number of paid renewals
	RenewalsBegun   uint64    // number of attempts so far, paid or not, and so the number of the last attempt
	LastTransaction ledger.ID // the last attempt's transaction
	Failures        uint8     // number of failed attempts at the due renewal, at most MaxAttempts; a pause does not reset it
	Inquiries       uint8     // number of inquiries about the renewal under way, up to the first with maxInquiryDelay
}

// Status returns the status that merchants see: active, past_due, paused or cancelled.
func (p *Progress) Status() string {
	switch p.State {
	case Paused, PausedRenewing:
		return string(Paused)
	case Cancelled, CancelledRenewing:
		return string(Cancelled)
	}
	if p.Failures > 0 {
		return string(PastDue)
	}
	return string(Active)
}

// Statuses returns all values that Status may return.
func Statuses() []string {
	return []string{string(Active), string(PastDue), string(Paused), string(Cancelled)}
}

// NextRenewal returns the instant at which the next renewal is due. If the instant is in the past, the renewal waits until its
// partner is active again. If no renewal will follow, ok is false. While a renewal is under way, ok is false too, because the
// next instant depends on the renewal's outcome.
func (p *Progress) NextRenewal() (due ledger.Micros, ok bool) {
	switch p.State {
	case Active:
		return p.NextCharge, true
	case PastDue:
		// After the last retry there is no next renewal, because the subscription is about to be paused.
		return p.NextCharge, int(p.Failures) <= len(retryDelays)
	}
	return 0, false
}

// Credential describes the stored credential (such as a card's token) that the initial payment has left for further charges.
type Credential struct {
	Terminal ledger.ID
	Asset    money.Asset
	Charged  bool // the initial payment is charged
	HasToken bool // the provider's token is stored
}

// Check calls refuse for each field of the terms that is wrong. field is its name in the request. found tells whether the
// initial payment exists and belongs to the partner. The caller, and not Check, must refuse a request that lacks a field.
func (t *Terms) Check(credential Credential, found bool, refuse func(field, detail string)) {
	const paymentField = "initial_payment_id"
	switch {
	case !found:
		refuse(paymentField, "there is no such payment")
	case !credential.Charged:
		refuse(paymentField, "it is not a charged payment")
	case !credential.HasToken:
		refuse(paymentField, "the payment left no stored credential that could be charged again")
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

// period returns the time between two renewals: PeriodDays days of 24 hours.
func (r *Record) period() time.Duration { return time.Duration(r.PeriodDays) * 24 * time.Hour }
