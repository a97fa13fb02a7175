package conformance_test

import (
	"strings"
	"testing"
)

// Tests of the addresses of payers' pages. Each address contains a token that opens the page.

// waitingTransactions returns the params of creates whose transactions wait for their payer in different ways, with
// the field in which the response shows the payer's address.
func waitingTransactions() map[string]struct {
	create params
	field  string
} {
	type row = struct {
		create params
		field  string
	}
	return map[string]row{
		"hosted":       {hosted(), "widget_url"},
		"3-D Secure":   {payment(redirected), "simple_auth_redirect_url"},
		"a password":   {payment(password), "simple_auth_redirect_url"},
		"no action":    {paymentWith(params{"type": "sbp"}), "simple_auth_redirect_url"},
		"a choice":     {payout(good, "money_storage", params{"type": "sepa"}), "simple_auth_redirect_url"},
		"a payout's":   {payout(good, "money_storage", params{"type": "qr_code"}), "simple_auth_redirect_url"},
		"show_widget":  {hosted("hosted", absent, "show_widget", true), "widget_url"},
		"hosted again": {hosted("type", "payout"), "widget_url"},
	}
}

// wantOpen checks whether a URL opens: the response is the payer's page, or a redirect of the payer. open tells whether the URL
// must open.
func (p payer) wantOpen(address string, open bool) {
	p.t.Helper()
	status := p.get(address).status
	if live := status == 200 || status == 303; live != open {
		p.t.Errorf("%s responded %d, want it open: %v", address, status, open)
	}
}

func TestEachReadWithThePartnerKeyHasAFreshPageAddress(t *testing.T) {
	merchant, p := sandboxMerchant(t), payer{t}
	for name, w := range waitingTransactions() {
		t.Run(name, func(t *testing.T) {
			p := payer{t}
			transaction := merchant.create(w.create)
			first := transaction.at(w.field)
			p.wantOpen(first, true)
			advance(t, 10*60)
			second := merchant.read(transaction.at("id")).at(w.field)
			p.wantOpen(second, true)
			advance(t, 5*60-1)
			p.wantOpen(first, true)
			advance(t, 1) // 15 minutes after the create request
			p.wantOpen(first, false)
			p.wantOpen(second, true)
			third := merchant.read(transaction.at("id"))
			for _, field := range []string{w.field, "simple_auth_redirect_url"} {
				p.wantOpen(third.at(field), true)
			}
			advance(t, 10*60)
			p.wantOpen(second, false)
			p.wantOpen(third.at(w.field), true)
			advance(t, 5*60) // after 30 minutes the payer's time has passed
			p.wantOpen(third.at(w.field), false)
			merchant.read(transaction.at("id")).has("status", "rejected", "simple_auth_redirect_url", absent).hasRaw("widget_url", "null")
		})
	}
	// A payer who opens a link at the last moment sees the outcome.
	created := merchant.create(hosted())
	advance(t, 29*60)
	last := merchant.read(created.at("id")).at("widget_url")
	advance(t, 60)
	if page := p.get(last).want(200); !strings.Contains(page.body, "Time ran out before you confirmed.") || strings.Contains(page.body, "<form") {
		t.Errorf("past the payer's time the page is %s", page.body)
	}
}

func TestOnlyThePartnerKeyGetsPayerPageAddresses(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{}`)
	s := testServer(t).Sandbox
	for name, w := range waitingTransactions() {
		if w.create["type"] == "payout" && w.field != "widget_url" {
			continue // this merchant can't make payouts
		}
		t.Run(name, func(t *testing.T) {
			create := w.create.with("txid", "shown "+name)
			keyed := merchant.with("idempotency-key", "shown "+name)
			transaction := keyed.post(transactions, params{"params": create}).want(201)
			id := transaction.at("id")
			page := "/pay/" + id
			if !strings.Contains(transaction.body, page) {
				t.Fatalf("the create has no address: %s", transaction.body)
			}
			responses := map[string]*response{
				"the create again, by its key":  keyed.post(transactions, params{"params": create}).want(201),
				"the create again, by its txid": merchant.create(create),
				"the list":                      merchant.get(transactions + "?env=test&limit=100").want(200),
				"the administrator's list":      admin(t).get(transactions + "?env=test&limit=100&partner_id=" + merchant.number).want(200),
				"the administrator":             admin(t).get(transactions + "/" + id).want(200),
				"a session of an administrator": bearer(t, s.SessionToken).get(transactions + "/" + id).want(200),
				"an auditor":                    auditor(t).get(transactions + "/" + id).want(200),
			}
			for who, a := range responses {
				if strings.Contains(a.body, page) {
					t.Errorf("%s shows an address: %s", who, a.body)
				}
				if !strings.Contains(a.body, id) || !strings.Contains(a.body, `"widget_url":null`) {
					t.Errorf("%s: %s", who, a.body)
				}
			}
			for _, who := range []string{"the administrator", "an auditor"} {
				responses[who].hasRaw("simple_auth_redirect_url", "null")
			}
			payer{t}.wantOpen(merchant.read(id).at("simple_auth_redirect_url"), true)
		})
	}
	// If a continue request is repeated with its key, the response has no address of the payer's page either.
	id := merchant.create(hosted()).at("id")
	body := params{"money_storage": card(redirected)}
	keyed := merchant.with("idempotency-key", "continued")
	keyed.post(transactions+"/continue/"+id, body).want(200).has("status", "action_required")
	if first := merchant.read(id); !strings.Contains(first.body, "/pay/"+id) {
		t.Errorf("%s", first.body)
	}
	if again := keyed.post(transactions+"/continue/"+id, body).want(200); strings.Contains(again.body, "/pay/"+id) {
		t.Errorf("the continue again shows an address: %s", again.body)
	}
}

// A payer who has begun to act in time may act until the time for the action ends.
func TestPayerWhoHasStartedKeepsTheTimeOfTheAction(t *testing.T) {
	merchant, p := sandboxMerchant(t), payer{t}
	transaction := merchant.create(payment(password))
	form := p.open(transaction.at("simple_auth_redirect_url")).want(200)
	advance(t, 29*60)
	p.wantOpen(transaction.at("simple_auth_redirect_url"), false)
	p.send(form, "otp", "123456").want(200)
	merchant.read(transaction.at("id")).has("status", "charged")

	expired := merchant.create(payment(password))
	form = p.open(expired.at("simple_auth_redirect_url")).want(200)
	advance(t, 30*60)
	if page := p.send(form, "otp", "123456").want(200); !strings.Contains(page.body, "Time ran out before you confirmed.") {
		t.Errorf("past the payer's time the form leads to %s", page.body)
	}
	merchant.read(expired.at("id")).has("status", "rejected", "error_code", "payer_action_expired")
}
