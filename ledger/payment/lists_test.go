package payment_test

import (
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

func TestPayoutsHaveAListOfTheirOwn(t *testing.T) {
	var r payment.Record
	r.Partner, r.Type, r.Asset = 7, payment.Payout, money.Asset{Currency: "USD", Env: money.Prod}
	first, also := payment.Lists.Of(&r)
	if first != payment.Transactions.Of(7, money.Prod) || len(also) != 1 || also[0] != payment.Payouts.Of(7, money.Prod) {
		t.Errorf("a payout is in %v and %v", first, also)
	}
	r.Type = payment.Payment
	if first, also = payment.Lists.Of(&r); first == (ledger.List{}) || also != nil {
		t.Errorf("a payment is in %v and %v", first, also)
	}
}
