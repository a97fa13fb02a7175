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

// The fixture's transactions are in the states that the names of Trades's fields promise. Otherwise the tests that use
// these transactions would prove nothing.
func TestFixtureHasTransactionsOfEveryKind(t *testing.T) {
	w := fixture.Copy(t)
	trades := &w.Trades
	for _, c := range []struct {
		name    string
		record  *payment.Record
		status  payment.Status
		matches func(*payment.Record) bool
	}{
		{"refunded", trades.Refunded, payment.Refunded, func(r *payment.Record) bool {
			return r.RefundedAmount == money.FromUint64(667) && !r.RefundedFee.IsZero()
		}},
		{"returned", trades.Reversed, payment.Reversed, func(r *payment.Record) bool {
			return r.RefundedAmount == money.FromUint64(400) && r.ReturnID != ledger.ID{}
		}},
		{"with a pending refund", trades.RefundPending, payment.Refunding, func(r *payment.Record) bool { return r.Op != nil }},
		{"with a refused refund", trades.RefundRefused, payment.Charged, func(r *payment.Record) bool {
			return r.LastRefund() != nil && r.LastRefund().Status == payment.RefundFailed && r.RefundedAmount.IsZero()
		}},
		{"captured", trades.Captured, payment.Refunded, func(r *payment.Record) bool {
			return r.CapturedAmount == money.FromUint64(1_500) && !r.RefundedAmount.IsZero()
		}},
		{"held", trades.Held, payment.PaymentHeld, func(r *payment.Record) bool { return r.HoldUntil != 0 }},
		{"voided", trades.Voided, payment.Failed, func(r *payment.Record) bool { return r.Failure.Code == payment.CancelledByCaller }},
		{"converted", trades.Converted, payment.Refunded, func(r *payment.Record) bool { return !r.Rate.IsZero() && r.DestAmount != r.MerchantAmount.Abs }},
		{"with a fee above its amount", trades.FeeAboveAmount, payment.Charged, func(r *payment.Record) bool { return !r.Rate.IsZero() && r.MerchantAmount.Negative }},
		{"rerouted", trades.Rerouted, payment.Charged, func(r *payment.Record) bool { return r.Type == payment.Payout && len(r.Attempts) == 1 }},
		{"waiting for its payer", trades.AwaitingPayer, payment.ActionRequired, func(r *payment.Record) bool { return r.KeepCard && r.Action != nil }},
		{"with a passed challenge", trades.ChallengePassed, payment.Charged, func(r *payment.Record) bool { return !r.KeepCard && r.Action == nil }},
		{"hosted and unpaid", trades.HostedUnpaid, payment.Created, func(r *payment.Record) bool { return r.Hosted && r.Route == "" }},
		{"hosted and paid", trades.HostedPaid, payment.Charged, func(r *payment.Record) bool { return r.Hosted && r.Route != "" }},
		{"deposited on a chain", trades.ChainDeposit, payment.Charged, func(r *payment.Record) bool { return !r.Rate.IsZero() && r.Asset.Network != "" && r.RailMeta != nil }},
		{"made with keys", trades.WithKeys, payment.Refunded, func(r *payment.Record) bool { return r.RefundedAmount == money.FromUint64(18) }},
	} {
		if c.record.Status != c.status || !c.matches(c.record) {
			t.Errorf("%s is %s: %+v", c.name, c.record.Status, c.record)
		}
	}
	var refusalReasons []string
	for _, line := range w.Answers {
		for _, reason := range []string{"hold expired", "payer action expired", "authentication_failed"} {
			if strings.Contains(line, reason) {
				refusalReasons = append(refusalReasons, reason)
			}
		}
	}
	if !slices.Contains(refusalReasons, "authentication_failed") {
		t.Errorf("no payer was refused: %v", refusalReasons)
	}
}
