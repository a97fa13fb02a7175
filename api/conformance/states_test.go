package conformance_test

import (
	"testing"
)

// Tests of the specification's section "States and transitions".

// charge is the entry of a charged payment of 10.00 USD, as merchant.entries returns it.
const charge = "settle posted: Dr A:provider:T1 1000 USD, Cr L:partner:P:available 1000 USD"

func TestCreatedHasMovedNothing(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(hosted()).has("status", "created").at("id")
	m.wantMoved(id)
	m.wantBalance("USD", "0 0")
}

func TestNewTransactionIsAuthorizedThenCharged(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(good)).has("status", "charged").matches("finished", instant).at("id")
	if got := m.states(id); got != "created new authorizing charging charged" {
		t.Errorf("it went through %s", got)
	}
	m.wantMoved(id, charge)
}

func TestActionRequiredWaitsForThePayer(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(redirected)).has("status", "action_required", "auth_params.type", "redirect").hasRaw("finished", "null").at("id")
	if got := m.states(id); got != "created new authorizing charging action_required" {
		t.Errorf("it went through %s", got)
	}
	m.wantMoved(id)
}

func TestApprovedActionGoesThroughCharging(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	r := m.create(payment(password)).has("status", "action_required")
	m.submit(r.at("id"), params{"otp": "123456"}).want(200).has("status", "charged").hasRaw("auth_params", "null")
	if got := m.states(r.at("id")); got != "created new authorizing charging action_required charging charged" {
		t.Errorf("it went through %s", got)
	}
	m.wantMoved(r.at("id"), charge)
}

func TestRefusedActionIsRejected(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	r := m.create(payment(redirected))
	p := payer{t}
	p.send(p.open(r.at("simple_auth_redirect_url")), "decision", "refuse").wantRedirectedTo(failURL)
	m.read(r.at("id")).has("status", "rejected", "error_code", "authentication_failed").matches("finished", instant)
	m.wantMoved(r.at("id"))
	m.wantBalance("USD", "0 0")
}

func TestChargingLastsUntilTheProviderConfirms(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(delayed)).has("status", "charging").hasRaw("finished", "null").at("id")
	m.wantMoved(id)
	advance(t, 4)
	m.read(id).has("status", "charging")
	advance(t, 1)
	m.read(id).has("status", "charged").matches("finished", instant)
	m.wantMoved(id, charge)
}

func TestProviderRefusalIsRejected(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(declined)).has("status", "rejected", "error_code", "card_declined").matches("finished", instant).at("id")
	m.wantMoved(id)
	m.wantBalance("USD", "0 0")
}

func TestProcessingErrorIsFailed(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(processing)).has("status", "failed", "error_code", "processing_error").matches("finished", instant).at("id")
	m.wantMoved(id)
}

func TestFailedPayoutReleasesItsHold(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	m.create(payment(good))
	for number, status := range map[string]string{processing: "failed", declined: "rejected"} {
		id := m.create(payout(number, "amount", "600")).has("status", status).at("id")
		const heldEntry = "Dr L:partner:P:available 600 USD, Cr A:provider:T2 600 USD"
		event := map[string]string{"failed": "fail", "rejected": "decline"}[status]
		m.wantMoved(id, "authorise pending: "+heldEntry, event+" void: "+heldEntry)
		m.wantBalance("USD", "1000 0")
	}
}

func TestServerToServerCreateWithoutCredentialsIsRejected(t *testing.T) {
	m := sandboxMerchant(t)
	for _, storage := range []any{absent, nil, params{}} {
		r := m.send(payment(good, "money_storage", storage)).want(201)
		r.has("status", "rejected", "error_description", "unexpected card").matches("finished", instant)
	}
}

func TestServerToServerPaymentWithoutReturnURLsIsRejected(t *testing.T) {
	m := sandboxMerchant(t)
	for _, p := range []params{
		payment(good, "returnUrl", absent), payment(good, "failUrl", absent), payment(good, "returnUrl", absent, "failUrl", absent),
		payment(good, "returnUrl", ""), payment(good, "failUrl", nil),
	} {
		m.send(p).want(201).has("status", "rejected", "error_description", "return_url/fail_url params not specified")
	}
}

func TestHostedCreateBecomesNewWhenATerminalAccepts(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(hosted()).has("status", "created").at("id")
	if got := m.states(id); got != "created" {
		t.Errorf("before routing it went through %s", got)
	}
	m.continueWith(id, params{"money_storage": card(delayed)}).want(200).has("status", "charging")
	if got := m.states(id); got != "created new authorizing charging" {
		t.Errorf("it went through %s", got)
	}
}

func TestChargebackReversesTheOriginalAsItsOwnTransaction(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{"fee_bps":"250"}`)
	id := merchant.create(payment(chargedBack)).has("status", "charged").at("id")
	advance(t, 59)
	merchant.read(id).has("status", "charged")
	advance(t, 1)
	reversed := merchant.read(id).has("status", "reversed", "error_description", "The rail took the money back (chargeback).", "error_code", "null").matches("return_id", uuid4)
	returned := merchant.read(reversed.at("return_id")).has("type", "payout", "status", "charged", "amount", "1000", "merchant_meta.reversal_of", id)
	merchant.wantMoved(id, "settle posted: Dr A:provider:T1 1000 USD, Cr L:partner:P:available 975 USD, Cr I:fees 25 USD")
	merchant.wantMoved(returned.at("id"), "return posted: Cr A:provider:T1 1000 USD, Dr L:partner:P:available 975 USD, Dr I:fees 25 USD")
	merchant.wantBalance("USD", "0 0")
	if ids := merchant.get(transactions + "?env=test").want(200).column("id"); len(ids) != 2 {
		t.Errorf("%d transactions, want the payment and its return", len(ids))
	}
}

func TestOnlySettledTransactionsAreReversed(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	slow := m.create(payment(delayed)).has("status", "charging").at("id")
	m.cancel(slow).want(200).has("status", "failed", "error_code", "cancelled")
	m.wantMoved(slow)
}

func TestRefundRewritesTheOriginalsStatus(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(good)).at("id")
	m.refund(id, "").want(200).has("id", id, "status", "refunded", "refund_msg", "The money was returned.").matches("refund_id", uuid4)
	m.read(id).has("status", "refunded")
	m.wantBalance("USD", "0 0")
}

func TestSlowRefundGoesThroughRefunding(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	id := merchant.create(payment(refundSlow)).has("status", "charged").at("id")
	merchant.refund(id, "").want(200).has("status", "refunding").matches("refund_id", uuid4)
	merchant.wantBalance("USD", "0 0")
	advance(t, 5)
	merchant.read(id).has("status", "refunded", "refund_msg", "The money was returned.")
	if got := merchant.states(id); got != "created new authorizing charging charged refunding refunded" {
		t.Errorf("it went through %s", got)
	}
	const refundEntry = "Cr A:provider:T1 1000 USD, Dr L:partner:P:available 1000 USD"
	merchant.wantMoved(id, charge, "refund pending: "+refundEntry, "refund_done capture: "+refundEntry)
}

func TestRefundedIsNotFinal(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(chargedBack)).at("id")
	m.refund(id, "400").want(200).has("status", "refunded")
	advance(t, 60)
	reversed := m.read(id).has("status", "reversed")
	m.read(reversed.at("return_id")).has("amount", "600", "merchant_meta.reversal_of", id)
	m.wantBalance("USD", "0 0")
}

const hold = "hold_payment pending: Dr A:provider:T1 1000 USD, Cr L:partner:P:available 1000 USD"

func TestCommitCapturesTheHold(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"two_phase":true}`)
	id := m.create(payment(good)).has("status", "payment_suspended").hasRaw("finished", "null").at("id")
	m.wantBalance("USD", "0 1000")
	m.wantMoved(id, hold)
	m.commit(id, "").want(200).has("status", "charged", "captured_amount", "1000").matches("finished", instant)
	m.wantBalance("USD", "1000 0")
	m.wantMoved(id, hold, "capture capture: Dr A:provider:T1 1000 USD, Cr L:partner:P:available 1000 USD")
}

func TestCaptureNeverExceedsTheHold(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"two_phase":true}`)
	id := m.create(payment(good)).at("id")
	m.commit(id, "1001").want(422).has("error", "invalid_capture_amount")
	m.read(id).has("status", "payment_suspended")
	m.wantMoved(id, hold)
}

func TestCancelReleasesTheHold(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"two_phase":true}`)
	id := m.create(payment(good)).has("status", "payment_suspended").at("id")
	m.cancel(id).want(200).has("status", "failed", "error_code", "cancelled").matches("finished", instant)
	m.wantBalance("USD", "0 0")
	m.wantMoved(id, hold, "void void: Dr A:provider:T1 1000 USD, Cr L:partner:P:available 1000 USD")
}

func TestHoldExpires(t *testing.T) {
	m := newMerchantWithTerminals(t, `{"two_phase":true,"hold_ttl_seconds":600}`)
	id := m.create(payment(good)).has("status", "payment_suspended").at("id")
	advance(t, 599)
	m.read(id).has("status", "payment_suspended")
	advance(t, 1)
	m.read(id).has("status", "failed", "error_description", "hold expired").matches("finished", instant)
	m.wantBalance("USD", "0 0")
	m.wantMoved(id, hold, "void void: Dr A:provider:T1 1000 USD, Cr L:partner:P:available 1000 USD")
}

func TestTwoPhasePayoutIsHeld(t *testing.T) {
	merchant := newMerchant(t)
	merchant.addTerminal("payment", `{}`)
	merchant.addTerminal("payout", `{"two_phase":true}`)
	merchant.create(payment(good))
	const heldEntry = "Dr L:partner:P:available 600 USD, Cr A:provider:T2 600 USD"
	heldPayout := merchant.create(payout(good, "amount", "600")).has("status", "payout_suspended").at("id")
	merchant.wantBalance("USD", "400 0")
	merchant.cancel(heldPayout).want(200).has("status", "failed")
	merchant.wantBalance("USD", "1000 0")
	merchant.wantMoved(heldPayout, "authorise pending: "+heldEntry, "void void: "+heldEntry)

	paid := merchant.create(payout(good, "amount", "600")).at("id")
	merchant.commit(paid, "").want(200).has("status", "charged")
	merchant.wantBalance("USD", "400 0")
	merchant.wantMoved(paid, "authorise pending: "+heldEntry, "capture capture: "+heldEntry)
}

func TestRefusalByOneTerminalIsNotFinal(t *testing.T) {
	m := newMerchant(t)
	m.addTerminal("payment", `{"priority":1,"fail":"rejected"}`)
	m.addTerminal("payment", `{"priority":2,"fail":"rejected"}`)
	m.addTerminal("payment", `{"priority":3}`)
	id := m.create(payment(good)).has("status", "charged", "error_description", "").at("id")
	if got := m.states(id); got != "created new authorizing new authorizing new authorizing charging charged" {
		t.Errorf("it went through %s", got)
	}
	m.wantMoved(id, "settle posted: Dr A:provider:T3 1000 USD, Cr L:partner:P:available 1000 USD")
}
