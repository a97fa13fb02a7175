package jsonform

import (
	"mizan/ledger"
	"mizan/ledger/schema"
	"mizan/ledger/subscription"
)

// AppendSubscription appends a subscription's fields. started is when the record was created; the store keeps it beside the record, not in it. The
// stored credential is never shown.
func AppendSubscription(e *schema.Encoder, r *subscription.Record, started ledger.Micros) {
	e.ID("id", r.ID)
	e.Word("status", r.Status())
	e.ID("initial_payment_id", r.Initial)
	e.Amount("amount", r.Amount)
	e.Word("currency", string(r.Asset.Currency))
	e.Text("network", string(r.Asset.Network))
	e.Word("env", r.Asset.Env.String())
	e.Integer("period_days", int64(r.PeriodDays))
	next, _ := r.NextRenewal()
	e.Instant("next_renewal_at", next)
	e.Integer("renewals", int64(r.Renewals))
	e.Integer("failed_attempts", int64(r.Failures))
	if r.Number > 0 {
		e.ID("last_transaction_id", r.Last)
	} else {
		e.Null("last_transaction_id")
	}
	e.Object("metadata", r.Metadata)
	e.Instant("created_at", started)
}
