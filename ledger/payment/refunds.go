package payment

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
)

// MaxRefunds is the largest number of refunds that a record stores. Close to this number, a new refund replaces the
// oldest failed refund. If no refund has failed, the last place is reserved for a refund of all the money that is left,
// so that a full refund is always possible.
const MaxRefunds = 100

// RefundRecord is one requested refund.
type RefundRecord struct {
	ID          ledger.ID    // refund_id; also the id of the refund at the provider
	Amount      money.Amount // the refunded part of the transaction's amount
	RefundedFee money.Amount // the part of the fee that the refund returns
	Status      RefundStatus
	Failure     Failure       // why the refund failed; zero unless Status is RefundFailed
	CreatedAt   ledger.Micros // instant of the request
	FinishedAt  ledger.Micros // instant of the outcome; 0 if there is none yet
}

// RefundStatus is the status of a refund. It is stored. The zero value is invalid.
type RefundStatus uint8

// The statuses of a refund.
const (
	RefundRequested RefundStatus = iota + 1 // pending: the provider has not answered yet
	RefundIsPending                         // pending: the call to the provider has ended without an outcome
	RefundSucceeded
	RefundFailed
)

// String returns the status in the API's spelling.
func (s RefundStatus) String() string {
	names := [...]string{"invalid", "pending", "pending", "succeeded", "failed"}
	if int(s) < len(names) {
		return names[s]
	}
	return names[0]
}

// IsPending tells whether the outcome is not known yet.
func (s RefundStatus) IsPending() bool { return s == RefundRequested || s == RefundIsPending }

// Describe returns refund_msg, a text for people that states the outcome in the given language. The text is empty until
// the provider has answered: some clients were written for other platforms with this protocol, and they understand every
// text as an outcome.
func (r *RefundRecord) Describe(lang string) string {
	switch r.Status {
	case RefundSucceeded:
		return textIn(lang, textRefunded)
	case RefundFailed:
		return r.Failure.Describe(lang)
	case RefundIsPending:
		return textIn(lang, textRefundPending)
	}
	return ""
}

// LastRefund returns the last requested refund; nil if there is none.
func (r *Record) LastRefund() *RefundRecord {
	if len(r.Refunds) == 0 {
		return nil
	}
	return &r.Refunds[len(r.Refunds)-1]
}

// hasRoomForRefund tells whether one more refund can be stored. isLast is true if that refund returns all the money that
// is left.
func (r *Record) hasRoomForRefund(isLast bool) bool {
	stored := len(r.Refunds)
	return stored < MaxRefunds-1 || isLast && stored < MaxRefunds ||
		slices.ContainsFunc(r.Refunds, func(f RefundRecord) bool { return f.Status == RefundFailed })
}

// addRefund stores the refund that the record's operation requests.
func (r *Record) addRefund(c DecisionContext) {
	stored := slices.Clone(r.Refunds)
	if len(stored) >= MaxRefunds-1 {
		if i := slices.IndexFunc(stored, func(f RefundRecord) bool { return f.Status == RefundFailed }); i >= 0 {
			stored = slices.Delete(stored, i, i+1)
		}
	}
	fee := r.Op.RefundedFee
	if r.Op.FromSuspense {
		fee = must(r.AmountWithFee.Sub(r.Amount)) // the refund of late money returns the payer's whole fee
	}
	r.Refunds = append(stored, RefundRecord{
		ID: r.Op.ID, Amount: r.Op.Amount, RefundedFee: fee, Status: RefundRequested, CreatedAt: ledger.MicrosOf(c.Now),
	})
}

// delayRefund sets the last refund's status to RefundIsPending.
func (r *Record) delayRefund() {
	r.Refunds = slices.Clone(r.Refunds)
	r.LastRefund().Status = RefundIsPending
}

// endRefund records the outcome of the last refund, which is the operation under way.
func (r *Record) endRefund(c DecisionContext, status RefundStatus, why Failure) {
	r.Refunds = slices.Clone(r.Refunds)
	last := r.LastRefund()
	last.Status, last.Failure = status, why
	last.FinishedAt = max(last.CreatedAt, ledger.MicrosOf(c.Now)) // the clock may have been set back
}
