package conformance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The sandbox's rail: its cards, its other methods and its log.

// ending is how a card's payment goes: at first, and some time later.
type ending struct {
	card, status, reason string
	later                int // seconds; 0: nothing follows
	end                  string
}

func (m *merchant) wantEndings(kind func(string, ...any) params, endings []ending) {
	m.t.Helper()
	for _, e := range endings {
		id := m.create(kind(e.card)).has("status", e.status, "error_description", e.reason).at("id")
		if e.later == 0 {
			continue
		}
		advance(m.t, e.later-1)
		m.read(id).has("status", e.status)
		advance(m.t, 1)
		m.read(id).has("status", e.end)
	}
}

func TestEveryCardOfAPaymentEndsAsTheTableSays(t *testing.T) {
	demo(t).wantEndings(payment, []ending{
		{good, "charged", "", 0, ""},
		{anotherGood, "charged", "", 0, ""},
		{"378282246310005", "charged", "", 0, ""},
		{declined, "rejected", "card_declined", 0, ""},
		{noFunds, "rejected", "insufficient_funds", 0, ""},
		{expired, "rejected", "expired_card", 0, ""},
		{processing, "failed", "processing_error", 0, ""},
		{redirected, "action_required", "", 0, ""},
		{formed, "action_required", "", 0, ""},
		{password, "action_required", "", 0, ""},
		{delayed, "charging", "", 5, "charged"},
		{silent, "charging", "", 10, "charged"},
		{chargedBack, "charged", "", 60, "reversed"},
		{refundRefused, "charged", "", 0, ""},
		{refundSlow, "charged", "", 0, ""},
	})
}

func TestEveryCardOfAPayoutEndsAsTheTableSays(t *testing.T) {
	demo(t).wantEndings(payout, []ending{
		{good, "charged", "", 0, ""},
		{anotherGood, "charged", "", 0, ""},
		{declined, "rejected", "card_declined", 0, ""},
		{noFunds, "rejected", "insufficient_funds", 0, ""},
		{expired, "rejected", "expired_card", 0, ""},
		{processing, "failed", "processing_error", 0, ""},
		{delayed, "charging", "", 5, "charged"},
		{silent, "charging", "", 10, "charged"},
		{redirected, "charged", "", 0, ""},
		{chargedBack, "charged", "", 0, ""},
	})
}

func TestTheChallengePageHasTwoButtons(t *testing.T) {
	m := demo(t)
	a := m.create(payment(redirected))
	page := payer{t}.open(a.at("auth_params.url")).want(200)
	for _, button := range []string{`value="approve"`, `value="refuse"`} {
		if strings.Count(page.body, button) != 1 {
			t.Errorf("the challenge page has not one button with %s", button)
		}
	}
	p := payer{t}
	p.send(page, "decision", "refuse").wantAway(failURL)
	m.read(a.at("id")).has("status", "rejected", "error_description", "authentication_failed")
	again := p.open(a.at("auth_params.url")).want(200)
	if strings.Contains(again.body, "<form") {
		t.Error("what was answered can be answered again")
	}
}

func TestThePostedFormLeadsToTheSamePage(t *testing.T) {
	m := demo(t)
	a := m.create(payment(formed)).has("auth_params.type", "auth_3ds_form", "auth_params.method", "post")
	p := payer{t}
	p.send(p.open(a.at("simple_auth_redirect_url")), "decision", "refuse").wantAway(failURL)
	m.read(a.at("id")).has("status", "rejected", "error_description", "authentication_failed")
}

func TestAnotherPasswordIsRefused(t *testing.T) {
	m := shop(t, `{}`)
	id := m.create(payment(password)).at("id")
	m.submit(id, params{"otp": "654321"}).want(200).has("status", "rejected", "error_description", "authentication_failed")
	m.submit(id, params{"otp": "123456"}).want(409)
	m.wantBalance("USD", "0 0")
}

func TestASilentRailIsInquiredAndNeverAskedTwice(t *testing.T) {
	m := shop(t, `{}`)
	id := m.create(payment(silent)).has("status", "charging", "error_description", "").at("id")
	m.wantMoved(id)
	advance(t, 10)
	m.read(id).has("status", "charged").is("rrn", digits)
	m.wantMoved(id, charge)
	if calls := called(t, id); len(calls) != 1 {
		t.Errorf("the rail was called %d times: %v", len(calls), calls)
	}
}

// called are the lines of the rail's log about a transaction.
func called(t testing.TB, id string) (lines []string) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(open(t).Dir, "simulator.log"))
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

func TestTheRailsLogHasALineACall(t *testing.T) {
	m := shop(t, `{}`)
	id := m.create(payment(good)).at("id")
	m.refund(id, "400").want(200)
	m.refund(id, "1000").want(422)
	lines := called(t, id)
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

func TestOtherMethodsThatAskForAnAction(t *testing.T) {
	m := shop(t, `{}`)
	m.create(payment(good, "amount", "100000"))
	for _, kind := range []string{"sbp", "qr_code", "crypto"} {
		for _, p := range []params{by(params{"type": kind}), payout(good, "money_storage", params{"type": kind})} {
			a := m.create(p).has("status", "action_required")
			for name := range a.names("") {
				if a.raw(name) != "null" && (name == "auth_params" || name == "widget_url" || name == "availble_destinations") {
					t.Errorf("a %s by %s has %s", a.at("type"), kind, name)
				}
			}
			pay(t, a)
			m.read(a.at("id")).has("status", "charged")
		}
	}
	for _, kind := range []string{"open_banking", "sepa"} {
		m.create(by(params{"type": kind})).has("status", "charged")
		a := m.create(payout(good, "money_storage", params{"type": kind})).has("status", "action_required", "availble_destinations.0.target_bank_id", "sim-bank-1")
		m.choose(a.at("id"), "sim-bank-1").want(200).has("status", "charged")
	}
}

func TestTheRestIsChargedAtOnce(t *testing.T) {
	m := demo(t)
	asks := map[string]bool{"sbp": true, "qr_code": true, "crypto": true, "open_banking": true, "sepa": true}
	for kind := range strings.FieldsSeq(universalTypes + " " + railTypes) {
		if !asks[kind] {
			m.create(by(params{"type": kind})).has("status", "charged")
			m.create(payout(good, "money_storage", params{"type": kind})).has("status", "charged")
		}
	}
}
