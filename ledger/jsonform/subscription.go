package jsonform

import (
	"mizan/ledger"
	"mizan/ledger/schema"
	"mizan/ledger/subscription"
)

// AppendSubscription appends a subscription's fields. started is the time of creation, which the store keeps beside the
// record. The stored card or other credential that pays the renewals is never shown.
func AppendSubscription(out *schema.Encoder, r *subscription.Record, started ledger.Micros) {
	out.ID("id", r.ID)
	out.Word("status", r.Status())
	out.ID("initial_payment_id", r.InitialPayment)
	out.Amount("amount", r.Amount)
	out.Word("currency", string(r.Asset.Currency))
	out.Text("network", string(r.Asset.Network))
	out.Word("env", r.Asset.Env.String())
	out.Integer("period_days", int64(r.PeriodDays))
	next, _ := r.NextRenewal()
	out.Instant("next_renewal_at", next)
	out.Integer("renewals", int64(r.Renewals))
	out.Integer("failed_attempts", int64(r.Failures))
	if r.RenewalsBegun > 0 {
		out.ID("last_transaction_id", r.LastTransaction)
	} else {
		out.Null("last_transaction_id")
	}
	out.Object("metadata", r.Metadata)
	out.Instant("created_at", started)
}
