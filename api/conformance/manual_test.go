package conformance_test

import "testing"

// Payouts that an operator pays by hand.

// byHand creates a terminal whose transactions count as charged after 25 hours.
func byHand(m *merchant, ad caller, kind, token string) {
	ad.t.Helper()
	ad.post(v1+"/terminal", `{"name":"By hand","partner_id":`+m.number+`,"provider":"manual","type":"`+kind+`","env":"test",`+
		`"provider_params":{"settle_after_seconds":90000,"bank_token":"`+token+`","priority":-1}}`).want(201)
}

func TestManualPayoutIsChargedAfterItsTimeAcrossAKill(t *testing.T) {
	const token = "canary-of-the-bank-token"
	s, m, ad := startOwnServer(t)
	step := func(seconds int) { ad.put(v1+"/sandbox/clock", params{"advance_seconds": seconds}).want(200) }
	byHand(m, ad, "payout", token)
	before := m.balance("USD")
	id := m.create(payout(good)).has("status", "charging", "error_code", "null").at("id")
	step(60000)
	m.read(id).has("status", "charging")
	m.cancel(id)
	m.read(id).has("status", "charging", "error_code", "null") // the operator may have paid it
	s.Kill()
	s.Restart()
	m.client, ad.client = s.Partner(), s.Admin()
	m.read(id).has("status", "charging")
	step(29999)
	m.read(id).has("status", "charging")
	step(60)
	m.read(id).has("status", "charged", "error_code", "null")
	if after := m.balance("USD"); after == before {
		t.Errorf("the balance is still %s", after)
	}
	if code := s.Stop(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	if found := search(t, s.Dir, token); found != "" {
		t.Errorf("%s has the bank's token", found)
	}
	if search(t, s.Dir, "By hand") == "" {
		t.Error("what is no secret is not found either")
	}
}

func TestManualTerminalRefusesPayments(t *testing.T) {
	m := newMerchant(t)
	byHand(m, admin(t), "payment", "t")
	m.create(payment(good)).has("status", "rejected", "error_code", "processing_error",
		"error_description", "The provider pays out by hand and takes no payments.")
	m.wantBalance("USD", "0 0")
}

func TestPaymentThatAManualTerminalRefusedIsTriedAtTheNext(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	byHand(m, admin(t), "payment", "t")
	m.create(payment(good)).has("status", "charged")
}
