package payment

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// MaxRefunds bounds the refunds that a record keeps. One more takes the place of the
// oldest that failed. Where none has failed the last place is for a refund of all that
// is left, so that money never stays behind for want of a place.
const MaxRefunds = 100

// RefundRecord is one refund that was asked for.
type RefundRecord struct {
	ID       ledger.ID    // refund_id: what the provider knows it by
	Amount   money.Amount // of the transaction's amount
	FeeBack  money.Amount // of the fee, returned with it
	Status   RefundStatus
	Failure  Failure       // for RefundFailed
	Created  ledger.Micros // when it was decided on
	Finished ledger.Micros // when its outcome was; 0: it is pending
}

// RefundStatus is how a refund stands. It is stored. The zero value is invalid.
type RefundStatus uint8

// The statuses of a refund.
const (
	RefundAsked     RefundStatus = iota + 1 // pending: the provider has not answered yet
	RefundIsPending                         // pending: the rail says that it takes its time
	RefundSucceeded
	RefundFailed
)

// String is the status as the API spells it.
func (s RefundStatus) String() string {
	names := [...]string{"invalid", "pending", "pending", "succeeded", "failed"}
	if int(s) < len(names) {
		return names[s]
	}
	return names[0]
}

// Pending tells whether the outcome is not known yet.
func (s RefundStatus) Pending() bool { return s == RefundAsked || s == RefundIsPending }

// Describe is the outcome for people, refund_msg, in a language; empty: the provider has
// not answered yet. Other platforms of the protocol take any text for an outcome.
func (f *RefundRecord) Describe(lang string) string {
	switch f.Status {
	case RefundSucceeded:
		return textIn(lang, textRefunded)
	case RefundFailed:
		return f.Failure.Describe(lang)
	case RefundIsPending:
		return textIn(lang, textRefundPending)
	}
	return ""
}

// LastRefund is the refund that was asked for last; nil: none was.
func (r *Record) LastRefund() *RefundRecord {
	if len(r.Refunds) == 0 {
		return nil
	}
	return &r.Refunds[len(r.Refunds)-1]
}

// hasRoom tells whether one more refund can be kept; whole says that it returns all
// that is left.
func (r *Record) hasRoom(whole bool) bool {
	kept := len(r.Refunds)
	return kept < MaxRefunds-1 || whole && kept < MaxRefunds ||
		slices.ContainsFunc(r.Refunds, func(f RefundRecord) bool { return f.Status == RefundFailed })
}

// addRefund keeps the refund that the record's operation asks for.
func (r *Record) addRefund(c DecisionContext) {
	kept := slices.Clone(r.Refunds)
	if len(kept) >= MaxRefunds-1 {
		if i := slices.IndexFunc(kept, func(f RefundRecord) bool { return f.Status == RefundFailed }); i >= 0 {
			kept = slices.Delete(kept, i, i+1)
		}
	}
	fee := r.Op.FeeBack
	if r.Op.Late {
		fee = must(r.WithFee.Sub(r.Amount)) // all that the payer paid goes back
	}
	r.Refunds = append(kept, RefundRecord{
		ID: r.Op.Request, Amount: r.Op.Amount, FeeBack: fee, Status: RefundAsked, Created: ledger.MicrosOf(c.Now),
	})
}

// delayRefund notes that the rail takes its time for the last refund.
func (r *Record) delayRefund() {
	r.Refunds = slices.Clone(r.Refunds)
	r.LastRefund().Status = RefundIsPending
}

// endRefund notes the outcome of the last refund: the operation that is under way.
func (r *Record) endRefund(c DecisionContext, status RefundStatus, why Failure) {
	r.Refunds = slices.Clone(r.Refunds)
	last := r.LastRefund()
	last.Status, last.Failure = status, why
	last.Finished = max(last.Created, ledger.MicrosOf(c.Now)) // a clock may step back
}
