package conformance_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Tests of the sandbox's provider: its cards, its other methods and its log.

// cardOutcome is the outcome of a payment with a card: the status at first, and the status some time later.
type cardOutcome struct {
	card, status, code string
	later              int // seconds; 0: nothing follows
	end                string
}

// wantCardOutcomes creates a transaction with each card and checks its statuses. newParams returns the params of a create request
// with a card.
func (m *merchant) wantCardOutcomes(newParams func(string, ...any) params, endings []cardOutcome) {
	m.t.Helper()
	for _, e := range endings {
		id := m.create(newParams(e.card)).has("status", e.status, "error_code", e.code).at("id")
		if e.later == 0 {
			continue
		}
		advance(m.t, e.later-1)
		m.read(id).has("status", e.status)
		advance(m.t, 1)
		m.read(id).has("status", e.end)
	}
}

func TestEveryPaymentTestCardHasItsOutcome(t *testing.T) {
	sandboxMerchant(t).wantCardOutcomes(payment, []cardOutcome{
		{good, "charged", "null", 0, ""},
		{anotherGood, "charged", "null", 0, ""},
		{"378282246310005", "charged", "null", 0, ""},
		{declined, "rejected", "card_declined", 0, ""},
		{noFunds, "rejected", "insufficient_funds", 0, ""},
		{expired, "rejected", "expired_card", 0, ""},
		{processing, "failed", "processing_error", 0, ""},
		{redirected, "action_required", "null", 0, ""},
		{formRequired, "action_required", "null", 0, ""},
		{password, "action_required", "null", 0, ""},
		{delayed, "charging", "null", 5, "charged"},
		{silent, "charging", "null", 10, "charged"},
		{chargedBack, "charged", "null", 60, "reversed"},
		{refundRefused, "charged", "null", 0, ""},
		{refundSlow, "charged", "null", 0, ""},
	})
}

func TestEveryPayoutTestCardHasItsOutcome(t *testing.T) {
	sandboxMerchant(t).wantCardOutcomes(payout, []cardOutcome{
		{good, "charged", "null", 0, ""},
		{anotherGood, "charged", "null", 0, ""},
		{declined, "rejected", "card_declined", 0, ""},
		{noFunds, "rejected", "insufficient_funds", 0, ""},
		{expired, "rejected", "expired_card", 0, ""},
		{processing, "failed", "processing_error", 0, ""},
		{delayed, "charging", "null", 5, "charged"},
		{silent, "charging", "null", 10, "charged"},
		{redirected, "charged", "null", 0, ""},
		{chargedBack, "charged", "null", 0, ""},
	})
}

func TestChallengePageHasTwoButtons(t *testing.T) {
	merchant := sandboxMerchant(t)
	r := merchant.create(payment(redirected))
	page := payer{t}.open(r.at("auth_params.url")).want(200)
	for _, button := range []string{`value="approve"`, `value="refuse"`} {
		if strings.Count(page.body, button) != 1 {
			t.Errorf("the challenge page has not one button with %s", button)
		}
	}
	p := payer{t}
	p.send(page, "decision", "refuse").wantRedirectedTo(failURL)
	merchant.read(r.at("id")).has("status", "rejected", "error_code", "authentication_failed")
	again := p.open(r.at("auth_params.url")).want(200)
	if strings.Contains(again.body, "<form") {
		t.Error("what was answered can be answered again")
	}
}

func TestFormRequiredCardLeadsToTheChallengePage(t *testing.T) {
	m := sandboxMerchant(t)
	r := m.create(payment(formRequired)).has("auth_params.type", "auth_3ds_form", "auth_params.method", "post")
	p := payer{t}
	p.send(p.open(r.at("simple_auth_redirect_url")), "decision", "refuse").wantRedirectedTo(failURL)
	m.read(r.at("id")).has("status", "rejected", "error_code", "authentication_failed")
}

func TestWrongOneTimePasswordIsRefused(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(password)).at("id")
	m.submit(id, params{"otp": "654321"}).want(200).has("status", "rejected", "error_code", "authentication_failed")
	m.submit(id, params{"otp": "123456"}).want(409)
	m.wantBalance("USD", "0 0")
}

func TestUnansweredChargeIsInquiredAndNeverRepeated(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(silent)).has("status", "charging", "error_description", "").at("id")
	m.wantMoved(id)
	advance(t, 10)
	m.read(id).has("status", "charged").matches("rrn", digits)
	m.wantMoved(id, charge)
	if calls := providerCalls(t, id); len(calls) != 1 {
		t.Errorf("the rail was called %d times: %v", len(calls), calls)
	}
}

// providerCalls returns the lines of the provider's log about a transaction.
func providerCalls(t testing.TB, id string) (lines []string) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(testServer(t).Dir, "simulator.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, `"reference":"`+id+`"`) {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestSimulatorLogHasOneLinePerCall(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(good)).at("id")
	m.refund(id, "400").want(200)
	m.refund(id, "1000").want(422)
	lines := providerCalls(t, id)
	want := []string{`"operation":"payment"`, `"operation":"refund"`}
	if len(lines) != len(want) {
		t.Fatalf("the log says %s", lines)
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) || !strings.Contains(line, `"outcome":"charged"`) {
			t.Errorf("line %d is %s", i, line)
		}
	}
}

func TestOtherMethodsCanRequireAnAction(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	merchant.create(payment(good, "amount", "100000"))
	for _, kind := range []string{"sbp", "qr_code", "crypto"} {
		for _, p := range []params{paymentWith(params{"type": kind}), payout(good, "money_storage", params{"type": kind})} {
			r := merchant.create(p).has("status", "action_required")
			for name := range r.memberNames("") {
				if r.rawAt(name) != "null" && (name == "auth_params" || name == "widget_url" || name == "availble_destinations") {
					t.Errorf("a %s by %s has %s", r.at("type"), kind, name)
				}
			}
			approvePayment(t, r)
			merchant.read(r.at("id")).has("status", "charged")
		}
	}
	for _, kind := range []string{"open_banking", "sepa"} {
		merchant.create(paymentWith(params{"type": kind})).has("status", "charged")
		r := merchant.create(payout(good, "money_storage", params{"type": kind})).has("status", "action_required", "availble_destinations.0.target_bank_id", "sim-bank-1")
		merchant.choose(r.at("id"), "sim-bank-1").want(200).has("status", "charged")
	}
}

// signature returns the signature of a payload: its SHA-256 in lower-case hex.
func signature(payload string) string {
	digest := sha256.Sum256([]byte(payload))
	return hex.EncodeToString(digest[:])
}

func TestCryptoPaymentRequiresASignature(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	nativeGas := paymentWith(params{"type": "native_gas"}, "currency", "ETH")
	r := merchant.create(nativeGas).has("status", "action_required", "auth_params.type", "none", "additional_params_for_auth.sequence", "1")
	if names := r.memberNames("additional_params_for_auth"); len(names) != 3 || !names["payload"] || !names["sequence"] || !names["expires_at"] {
		t.Errorf("additional_params_for_auth has %v", names)
	}
	if left := r.time("additional_params_for_auth.expires_at").Sub(r.time("started")); left.Round(time.Millisecond) != time.Minute || r.at("expires_at") != r.at("additional_params_for_auth.expires_at") {
		t.Errorf("expires_at is %v after started: %s", left, r.body)
	}
	payload := r.at("additional_params_for_auth.payload")
	before := providerCalls(t, r.at("id"))
	for _, material := range []params{{"signature": ""}, {"signature": 7}, {"payload": payload}, {"Signature": signature(payload)}} {
		merchant.submit(r.at("id"), material).refuses("additional_params_for_auth.signature", "signature is required, a text that is not empty")
	}
	merchant.post(transactions+"/additional_params_for_auth/"+r.at("id"), `{"additional_params_for_auth":{}}`).want(422)
	merchant.read(r.at("id")).has("status", "action_required", "additional_params_for_auth.payload", payload)
	if after := providerCalls(t, r.at("id")); len(after) != len(before) {
		t.Errorf("the rail was called: %v", after[len(before):])
	}
	merchant.submit(r.at("id"), params{"signature": signature(payload)}).want(200).has("status", "charged", "expires_at", absent).hasRaw("additional_params_for_auth", "{}")
	for _, wrong := range []string{strings.ToUpper(signature(payload)), signature(payload + " "), signature(payload)[1:], payload, "x"} {
		id := merchant.create(nativeGas).at("id")
		merchant.submit(id, params{"signature": wrong}).want(200).has("status", "rejected", "error_code", "authentication_failed")
	}
	merchant.wantBalance("ETH", "1000 0")
}

func TestReadAfterExpiryShowsFreshMaterial(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	r := merchant.create(paymentWith(params{"type": "native_gas"}, "currency", "ETH"))
	id, old := r.at("id"), r.at("additional_params_for_auth.payload")
	advance(t, 59)
	merchant.read(id).has("additional_params_for_auth.payload", old, "additional_params_for_auth.expires_at", r.at("additional_params_for_auth.expires_at"))
	advance(t, 2)
	merchant.submit(id, params{"signature": signature(old)}).want(422).has("error", "expired")
	// The operator and the auditor may not submit a signature, so their reads don't make the provider issue fresh
	// material: they see the expired material.
	for _, other := range []caller{admin(t), auditor(t)} {
		other.get(transactions+"/"+id).want(200).has("additional_params_for_auth.payload", old)
	}
	reissued := merchant.read(id).has("status", "action_required", "additional_params_for_auth.sequence", "2")
	payload := reissued.at("additional_params_for_auth.payload")
	extension := reissued.time("additional_params_for_auth.expires_at").Sub(r.time("additional_params_for_auth.expires_at"))
	if payload == old || extension != 61*time.Second || reissued.at("expires_at") != reissued.at("additional_params_for_auth.expires_at") {
		t.Errorf("the fresh material is %s, %v after the first", reissued.body, extension)
	}
	merchant.read(id).has("additional_params_for_auth.payload", payload)
	auditor(t).get(transactions+"/"+id).want(200).has("additional_params_for_auth.payload", payload)
	if calls := providerCalls(t, id); len(calls) != 2 || !strings.Contains(calls[1], `"operation":"reissue"`) {
		t.Errorf("the rail was called %d times: %v", len(calls), calls)
	}
	merchant.submit(id, params{"signature": signature(payload)}).want(200).has("status", "charged")
	merchant.submit(id, params{"signature": signature(payload)}).want(409)

	expired := merchant.create(paymentWith(params{"type": "native_gas"}, "currency", "ETH"))
	advance(t, 30*60)
	merchant.read(expired.at("id")).has("status", "rejected", "error_code", "payer_action_expired").hasRaw("additional_params_for_auth", "{}")
	if calls := providerCalls(t, expired.at("id")); strings.Contains(strings.Join(calls, ""), "reissue") {
		t.Errorf("material was published when the payer's time was over: %v", calls)
	}
}

func TestOtherMethodsAreChargedImmediately(t *testing.T) {
	m := sandboxMerchant(t)
	requiresAction := map[string]bool{"sbp": true, "qr_code": true, "crypto": true, "open_banking": true, "sepa": true}
	for kind := range strings.FieldsSeq(universalStorageTypes + " " + providerStorageTypes) {
		if !requiresAction[kind] {
			if kind != "native_gas" {
				m.create(paymentWith(params{"type": kind})).has("status", "charged")
			}
			m.create(payout(good, "money_storage", params{"type": kind})).has("status", "charged")
		}
	}
}
