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

// The trades have the states that their names say. Otherwise the tests that use them would
// prove nothing.
func TestTheFixtureHasTransactionsOfEveryKind(t *testing.T) {
	w := fixture.Copy(t)
	m := &w.Trades
	for _, c := range []struct {
		name   string
		record *payment.Record
		status payment.Status
		holds  func(*payment.Record) bool
	}{
		{"refunded", m.Refunded, payment.Refunded, func(r *payment.Record) bool { return r.Refunded == money.FromUint64(667) && !r.RefundedFee.IsZero() }},
		{"returned", m.Returned, payment.Reversed, func(r *payment.Record) bool { return r.Refunded == money.FromUint64(400) && r.ReturnID != ledger.ID{} }},
		{"returning", m.RefundPending, payment.Refunding, func(r *payment.Record) bool { return r.Op != nil }},
		{"unmoved", m.RefundRefused, payment.Charged, func(r *payment.Record) bool {
			return r.LastRefund() != nil && r.LastRefund().Status == payment.RefundFailed && r.Refunded.IsZero()
		}},
		{"captured", m.Captured, payment.Refunded, func(r *payment.Record) bool { return r.Captured == money.FromUint64(1_500) && !r.Refunded.IsZero() }},
		{"held", m.Held, payment.PaymentHeld, func(r *payment.Record) bool { return r.HoldUntil != 0 }},
		{"voided", m.Voided, payment.Failed, func(r *payment.Record) bool { return r.Failure.Code == payment.CancelledByCaller }},
		{"converted", m.Converted, payment.Refunded, func(r *payment.Record) bool { return !r.Rate.IsZero() && r.Dest != r.Merchant.Abs }},
		{"indebted", m.FeeAboveAmount, payment.Charged, func(r *payment.Record) bool { return !r.Rate.IsZero() && r.Merchant.Negative }},
		{"rerouted", m.Rerouted, payment.Charged, func(r *payment.Record) bool { return r.Type == payment.Payout && len(r.Attempts) == 1 }},
		{"acting", m.AwaitingPayer, payment.ActionRequired, func(r *payment.Record) bool { return r.KeepCard && r.Action != nil }},
		{"acted", m.ChallengePassed, payment.Charged, func(r *payment.Record) bool { return !r.KeepCard && r.Action == nil }},
		{"hosted", m.HostedUnpaid, payment.Created, func(r *payment.Record) bool { return r.Hosted && r.Route == "" }},
		{"continued", m.HostedPaid, payment.Charged, func(r *payment.Record) bool { return r.Hosted && r.Route != "" }},
		{"deposited", m.ChainDeposit, payment.Charged, func(r *payment.Record) bool { return !r.Rate.IsZero() && r.Asset.Network != "" && r.RailMeta != nil }},
		{"keyed", m.WithKeys, payment.Refunded, func(r *payment.Record) bool { return r.Refunded == money.FromUint64(18) }},
	} {
		if c.record.Status != c.status || !c.holds(c.record) {
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
