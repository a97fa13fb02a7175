package conformance_test

import (
	"sync"
	"testing"
)

// Tests of the specification's section "PUT /api/v1/transactions/{id} (refund or cancel)".

func TestChangeTypeIsRefundOrCancel(t *testing.T) {
	merchant := sandboxMerchant(t)
	id := merchant.create(payment(good)).at("id")
	for _, body := range []string{
		`{"params":{}}`, `{"params":{"type":"void"}}`, `{"params":{"type":"REFUND"}}`, `{"params":{"type":null}}`, `{"params":{"type":7}}`,
		`{"params":{"type":"charge","amount":"1"}}`,
	} {
		merchant.put(transactions+"/"+id, body).refuses("type", "type must be refund or cancel")
	}
	for _, body := range []string{`{"type":"refund"}`, `{}`, `[]`, `{"params":[]}`} {
		merchant.put(transactions+"/"+id, body).want(422)
	}
	merchant.read(id).has("status", "charged", "refund_id", absent)
}

func TestRefundWithoutAmountIsFull(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(good)).at("id")
	m.refund(id, "").want(200).has("status", "refunded", "refunded_amount", "1000")
	const refundEntry = "Cr A:provider:T1 1000 USD, Dr L:partner:P:available 1000 USD"
	m.wantMoved(id, charge, "refund pending: "+refundEntry, "refund_done capture: "+refundEntry)
	m.wantBalance("USD", "0 0")
}

func TestPartialRefundReturnsItsAmount(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(good)).at("id")
	m.refund(id, "400").want(200).has("status", "refunded", "refunded_amount", "400", "amount", "1000")
	m.wantBalance("USD", "600 0")
	m.refund(id, "").want(200).has("refunded_amount", "1000")
	m.wantBalance("USD", "0 0")
}

func TestRefundAmountIsPositiveAndAtMostTheTransactions(t *testing.T) {
	merchant := sandboxMerchant(t)
	id := merchant.create(payment(good)).at("id")
	for _, amount := range []any{"0", "-1", "1001", "1.5", "", "x", 400, 400.5, true, "1e2", "0400"} {
		r := merchant.put(transactions+"/"+id, params{"params": params{"type": "refund", "amount": amount}}).want(422)
		r.has("error", "invalid_refund_amount")
		if r.at("message") == absent || r.at("message") == "" {
			t.Errorf("there is no message: %s", r.body)
		}
	}
	merchant.read(id).has("status", "charged", "refund_id", absent)
	merchant.refund(id, "1000").want(200).has("status", "refunded")
}

func TestRefundIsRefusedBeforeAProviderIsReached(t *testing.T) {
	m := newMerchant(t)
	failedID := m.create(payment(good)).has("error_description", "no terminal available").at("id")
	m.addTerminal("payment", `{}`)
	unexpected := m.create(payment(good, "money_storage", absent)).at("id")
	waiting := m.create(hosted()).at("id")
	for _, id := range []string{failedID, unexpected, waiting} {
		m.refund(id, "").want(422).has("error", "not_reversible")
		m.cancel(id).want(422).has("error", "not_reversible")
	}
	m.read(waiting).has("status", "created")
}

func TestCancelVoidsAnAuthorization(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"two_phase":true}`)
	id := m.create(payment(good)).has("status", "payment_suspended").at("id")
	m.cancel(id).want(200).has("status", "failed", "refund_id", absent)
	m.wantBalance("USD", "0 0")
}

func TestRefundFieldsShowTheOutcome(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	granted, refused, slow := m.create(payment(good)).at("id"), m.create(payment(refundRefused)).at("id"), m.create(payment(refundSlow)).at("id")
	m.refund(granted, "").want(200).has("status", "refunded", "refund_msg", "The money was returned.").matches("refund_id", uuid4)
	m.refund(refused, "").want(200).has("status", "charged", "refund_msg", "The provider refused the refund.", "refunded_amount", "0").matches("refund_id", uuid4)
	m.refund(slow, "").want(200).has("status", "refunding", "refund_msg", "The refund is under way.").matches("refund_id", uuid4)
	const refundEntry = "Cr A:provider:T1 1000 USD, Dr L:partner:P:available 1000 USD"
	m.wantMoved(refused, charge, "refund pending: "+refundEntry, "refund_refused void: "+refundEntry)
	m.wantBalance("USD", "1000 0")
}

func TestEachRefundHasAnIDOfItsOwn(t *testing.T) {
	m := sandboxMerchant(t)
	id := m.create(payment(good)).at("id")
	first := m.refund(id, "1").want(200).at("refund_id")
	if second := m.refund(id, "1").want(200).at("refund_id"); first == second {
		t.Error("two refunds have one id")
	}
}

func TestRefundAboveTheRemainderIsInvalid(t *testing.T) {
	m := sandboxMerchant(t)
	id := m.create(payment(good)).at("id")
	m.refund(id, "700").want(200).has("status", "refunded")
	m.refund(id, "301").want(422).has("error", "invalid_refund_amount")
	m.refund(id, "300").want(200).has("refunded_amount", "1000")
	m.refund(id, "1").want(422).has("error", "invalid_refund_amount")
	m.refund(id, "").want(422).has("error", "invalid_refund_amount")
}

func TestUnsettledTransactionIsNotReversible(t *testing.T) {
	shop := newMerchantWithTerminals(t, `{}`)
	shop.create(payment(good))
	twoPhase := newMerchantWithTerminals(t, `{"two_phase":true}`)
	for _, c := range []struct {
		m *merchant
		p params
	}{{shop, payout(good, "amount", "10")}, {shop, payment(declined)}, {shop, payment(processing)}, {twoPhase, payment(good)}, {shop, payment(redirected)}, {shop, payment(delayed)}} {
		id := c.m.create(c.p).at("id")
		c.m.refund(id, "").want(422).has("error", "not_reversible")
	}
	returned := shop.create(payment(chargedBack)).at("id")
	advance(t, 60)
	shop.refund(returned, "").want(422).has("error", "not_reversible")
	shop.refund(shop.read(returned).has("status", "reversed").at("return_id"), "").want(422).has("error", "not_reversible")
}

func TestRefundedFeeIsComputedCumulatively(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"fee_bps":"1000","fee_refundable":true}`)
	id := m.create(payment(good, "amount", "99")).has("merchant_amount", "90").at("id") // the fee is 9
	m.wantBalance("USD", "90 0")
	m.refund(id, "50").want(200) // floor(9 × 50 ÷ 99) = 4
	m.wantBalance("USD", "44 0")
	m.refund(id, "").want(200) // the rest: 49 of the amount, 5 of the fee
	m.wantBalance("USD", "0 0")
	m.wantMoved(id,
		"settle posted: Dr A:provider:T1 99 USD, Cr L:partner:P:available 90 USD, Cr I:fees 9 USD",
		"refund pending: Cr A:provider:T1 50 USD, Dr L:partner:P:available 46 USD, Dr I:fees 4 USD",
		"refund_done capture: Cr A:provider:T1 50 USD, Dr L:partner:P:available 46 USD, Dr I:fees 4 USD",
		"refund pending: Cr A:provider:T1 49 USD, Dr L:partner:P:available 44 USD, Dr I:fees 5 USD",
		"refund_done capture: Cr A:provider:T1 49 USD, Dr L:partner:P:available 44 USD, Dr I:fees 5 USD")
}

func TestNonRefundableFeeIsKeptAndOwed(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"fee_bps":"1000"}`)
	id := m.create(payment(good)).has("merchant_amount", "900").at("id")
	m.refund(id, "").want(200).has("status", "refunded")
	m.wantMoved(id,
		"settle posted: Dr A:provider:T1 1000 USD, Cr L:partner:P:available 900 USD, Cr I:fees 100 USD",
		"refund pending: Cr A:provider:T1 1000 USD, Dr L:partner:P:available 1000 USD",
		"refund_done capture: Cr A:provider:T1 1000 USD, Dr L:partner:P:available 900 USD, Dr A:partner:P:receivable 100 USD")
	m.wantBalance("USD", "0 0")
}

func TestRefundReturnsAFeeOnTop(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"fee_bps":"1000","fee_mode":"on_top","fee_refundable":true}`)
	id := m.create(payment(good)).has("amount_with_fee", "1100", "merchant_amount", "1000").at("id")
	m.refund(id, "500").want(200)
	m.wantMoved(id,
		"settle posted: Dr A:provider:T1 1100 USD, Cr L:partner:P:available 1000 USD, Cr I:fees 100 USD",
		"refund pending: Cr A:provider:T1 550 USD, Dr L:partner:P:available 500 USD, Dr I:fees 50 USD",
		"refund_done capture: Cr A:provider:T1 550 USD, Dr L:partner:P:available 500 USD, Dr I:fees 50 USD")
}

func TestPendingRefundHoldsItsMoney(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(refundSlow)).at("id")
	m.refund(id, "").want(200).has("status", "refunding")
	m.wantBalance("USD", "0 0")
	m.create(payout(good, "amount", "1")).has("status", "rejected", "error_description", "insufficient balance")
	advance(t, 5)
	m.read(id).has("status", "refunded")
}

func TestConcurrentRefundsNeverExceedTheTransaction(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	id := merchant.create(payment(good)).at("id")
	const racers = 16
	responses := make([]*response, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() { responses[i] = merchant.refund(id, "") })
	}
	wg.Wait()
	successes := 0
	for _, a := range responses {
		switch {
		case a.status == 200:
			successes++
		case a.status == 409 && a.at("error") == "conflict", a.status == 422 && a.at("error") == "invalid_refund_amount":
		default:
			t.Errorf("a loser got %d %s", a.status, a.body)
		}
	}
	if successes != 1 {
		t.Errorf("%d of %d refunds won", successes, racers)
	}
	merchant.wantBalance("USD", "0 0")
}

func TestCancelIsAllowedBeforeSettlementOnly(t *testing.T) {
	shop, twoPhase := newMerchantWithTerminals(t, `{}`), newMerchantWithTerminals(t, `{"two_phase":true}`)
	for _, c := range []struct {
		m      *merchant
		p      params
		status string
	}{
		{shop, payment(redirected), "action_required"}, {shop, paymentWith(params{"type": "sbp"}), "action_required"}, {shop, payment(delayed), "charging"},
		{shop, payment(silent), "charging"}, {twoPhase, payment(good), "payment_suspended"},
	} {
		id := c.m.create(c.p).has("status", c.status).at("id")
		c.m.cancel(id).want(200).has("status", "failed", "error_code", "cancelled")
		c.m.cancel(id).want(422).has("error", "not_reversible")
	}
	shop.wantBalance("USD", "0 0")
	twoPhase.wantBalance("USD", "0 0")
	for _, p := range []params{payment(good), payment(declined), payment(processing)} {
		shop.cancel(shop.create(p).at("id")).want(422).has("error", "not_reversible")
	}
}

func TestCancelledPayoutReturnsTheMoney(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	m.create(payment(good))
	id := m.create(payout(good, "money_storage", params{"type": "sepa"})).has("status", "action_required").at("id")
	m.wantBalance("USD", "0 0")
	m.cancel(id).want(200).has("status", "failed", "error_code", "cancelled")
	m.wantBalance("USD", "1000 0")
}
