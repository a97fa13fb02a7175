package check_test

import (
	"slices"
	"strings"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/snapshots/fixture"
)

// The fixture's transactions are in the states that the fields of Trades promise. If they were not, the tests
// that use them would prove nothing.
func TestFixtureHasTransactionsOfEveryKind(t *testing.T) {
	w := fixture.Copy(t)
	m := &w.Trades
	for _, c := range []struct {
		name    string
		record  *payment.Record
		status  payment.Status
		matches func(*payment.Record) bool
	}{
		{"refunded", m.Refunded, payment.Refunded, func(r *payment.Record) bool { return r.Refunded == money.FromUint64(667) && !r.RefundedFee.IsZero() }},
		{"returned", m.Returned, payment.Reversed, func(r *payment.Record) bool { return r.Refunded == money.FromUint64(400) && r.ReturnID != ledger.ID{} }},
		{"with a pending refund", m.RefundPending, payment.Refunding, func(r *payment.Record) bool { return r.Op != nil }},
		{"with a refused refund", m.RefundRefused, payment.Charged, func(r *payment.Record) bool {
			return r.LastRefund() != nil && r.LastRefund().Status == payment.RefundFailed && r.Refunded.IsZero()
		}},
		{"captured", m.Captured, payment.Refunded, func(r *payment.Record) bool { return r.Captured == money.FromUint64(1_500) && !r.Refunded.IsZero() }},
		{"held", m.Held, payment.PaymentHeld, func(r *payment.Record) bool { return r.HoldUntil != 0 }},
		{"voided", m.Voided, payment.Failed, func(r *payment.Record) bool { return r.Failure.Code == payment.CancelledByCaller }},
		{"converted", m.Converted, payment.Refunded, func(r *payment.Record) bool { return !r.Rate.IsZero() && r.Dest != r.Merchant.Abs }},
		{"with a fee above its amount", m.FeeAboveAmount, payment.Charged, func(r *payment.Record) bool { return !r.Rate.IsZero() && r.Merchant.Negative }},
		{"rerouted", m.Rerouted, payment.Charged, func(r *payment.Record) bool { return r.Type == payment.Payout && len(r.Attempts) == 1 }},
		{"waiting for its payer", m.AwaitingPayer, payment.ActionRequired, func(r *payment.Record) bool { return r.KeepCard && r.Action != nil }},
		{"with a passed challenge", m.ChallengePassed, payment.Charged, func(r *payment.Record) bool { return !r.KeepCard && r.Action == nil }},
		{"hosted and unpaid", m.HostedUnpaid, payment.Created, func(r *payment.Record) bool { return r.Hosted && r.Route == "" }},
		{"hosted and paid", m.HostedPaid, payment.Charged, func(r *payment.Record) bool { return r.Hosted && r.Route != "" }},
		{"deposited on a chain", m.ChainDeposit, payment.Charged, func(r *payment.Record) bool { return !r.Rate.IsZero() && r.Asset.Network != "" && r.RailMeta != nil }},
		{"made with keys", m.WithKeys, payment.Refunded, func(r *payment.Record) bool { return r.Refunded == money.FromUint64(18) }},
	} {
		if c.record.Status != c.status || !c.matches(c.record) {
			t.Errorf("%s is %s: %+v", c.name, c.record.Status, c.record)
		}
	}
	var ended []string
	for _, line := range w.Answers {
		for _, reason := range []string{"hold expired", "payer action expired", "authentication_failed"} {
			if strings.Contains(line, reason) {
				ended = append(ended, reason)
			}
		}
	}
	if !slices.Contains(ended, "authentication_failed") {
		t.Errorf("no payer was refused: %v", ended)
	}
}
