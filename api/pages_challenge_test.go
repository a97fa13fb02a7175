package api_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestRedirectLeadsToTheChallengeAndBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct{ button, status, reason, returnsTo string }{
		{"approve", "charged", "", returnURL},
		{"refuse", "rejected", "authentication_failed", failURL},
	} {
		for _, address := range []string{"simple_auth_redirect_url", "auth_params.url"} {
			transaction := f.charge("4000000000003220").wantStatus("action_required", "")
			if transaction.at("auth_params.type") != "redirect" || transaction.at("widget_url") != "null" {
				t.Errorf("%s", transaction.body)
			}
			decided := f.answerChallenge(f.browse(transaction.at(address)).wantPage(200, "Simulated bank", "$12.50"), c.button)
			f.transaction(transaction.at("id")).wantStatus(c.status, c.reason) // the decision takes effect before the payer comes back
			f.follow(decided).wantRedirect(c.returnsTo)
			f.browse(decided.header.Get("location")).wantRedirect(c.returnsTo) // the payer may come back a second time
			f.transaction(transaction.at("id")).wantStatus(c.status, c.reason)
		}
	}
}

func TestThreeDSFormIsPostedToTheChallenge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for button, status := range map[string]string{"approve": "charged", "refuse": "rejected"} {
		transaction := f.charge("4000000000003063").wantStatus("action_required", "")
		if transaction.at("auth_params.type") != "auth_3ds_form" || transaction.at("auth_params.method") != "post" {
			t.Errorf("%s", transaction.body)
		}
		f.browse(transaction.at("simple_auth_redirect_url")).wantPage(200, "Simulated bank")
		fields := url.Values{}
		for name, value := range transaction.object()["auth_params"].(map[string]any)["params"].(map[string]any) {
			fields.Set(name, value.(string))
		}
		f.answerChallenge(f.send(transaction.at("auth_params.url"), fields), button)
		if got := f.transaction(transaction.at("id")).at("status"); got != status {
			t.Errorf("%s: %s", button, got)
		}
	}
}

func TestLateChallengeAnswerChargesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.charge("4000000000003220").wantStatus("action_required", "")
	challenge := f.browse(transaction.at("simple_auth_redirect_url"))
	f.advanceBy(30 * time.Minute)
	f.follow(f.answerChallenge(challenge, "approve")).wantRedirect(failURL)
	f.transaction(transaction.at("id")).wantStatus("rejected", "payer action expired")
}

func TestActionWithoutAuthParamsIsShownOnlyOnThePage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for params, texts := range map[string][]string{
		`"type":"payment","amount":"1250","currency":"RUB","money_storage":{"type":"sbp"}`:                      {"Scan to pay", "RUB\u00a012.50"},
		`"type":"payment","amount":"1250","currency":"RUB","money_storage":{"type":"qr_code"}`:                  {"Scan to pay", "RUB\u00a012.50"},
		`"type":"payment","amount":"1250","currency":"USDT","network":"tron","money_storage":{"type":"crypto"}`: {"Send the payment", "USDT 0.00125 (tron)", "<dt>Address</dt>", ">simulated-tron-"},
		`"type":"payout","amount":"1250","currency":"RUB","money_storage":{"type":"sbp"}`:                       {"Scan to receive", "RUB\u00a012.50"},
		`"type":"payout","amount":"1250","currency":"USDT","network":"tron","money_storage":{"type":"crypto"}`:  {"Scan to receive", "USDT 0.00125 (tron)", "<dt>Sender address</dt>"},
	} {
		transaction := f.create(params).wantStatus("action_required", "")
		if authParams := transaction.at("auth_params"); authParams != "null" && authParams != "(absent)" {
			t.Errorf("%s: auth_params %s", params, authParams)
		}
		if transaction.at("widget_url") != "null" {
			t.Errorf("%s: %s", params, transaction.body)
		}
		address := transaction.at("simple_auth_redirect_url")
		page := f.browse(address).wantPage(200, texts[0], append(texts[1:], "<svg class=\"qr\"", ">30 minutes left<", `content="5; url=/pay/`)...)
		if showsAddress := strings.Contains(page.body, "simulated-"); showsAddress != strings.Contains(params, "crypto") {
			t.Errorf("%s: an address is shown: %v", params, showsAddress)
		}
		f.advanceBy(90 * time.Second)
		page = f.browse(address).wantPage(200, texts[0], ">28 minutes left<")
		action, fields := page.form()
		fields.Set("decision", "approve")
		f.follow(f.visit("POST", action, fields)).wantRedirect(returnURL)
		f.transaction(transaction.at("id")).wantStatus("charged", "")
		finalText := map[bool]string{true: "Paid", false: "The money is on its way to you"}[strings.Contains(params, `"payment"`)]
		f.browse(address).wantPage(200, finalText)
	}
}

// A page that the payer keeps open shows the payment's outcome, even if the URL of the page expires before the outcome.
func TestOpenPageShowsTheOutcomeAfterItsLinkExpires(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.create(`"type":"payment","amount":"1250","currency":"RUB","money_storage":{"type":"sbp"}`)
	refreshPattern := regexp.MustCompile(`content="5; url=([^"]+)"`)
	page := f.browse(transaction.at("simple_auth_redirect_url"))
	for range 6 {
		page.wantPage(200, "Scan to pay")
		f.advanceBy(5 * time.Minute)
		page = f.browse(f.base() + unescape.Replace(refreshPattern.FindStringSubmatch(page.body)[1]))
	}
	page.wantPage(200, "Not paid", "Time ran out before you confirmed.", failURL)
}

func TestChallengeAcceptsBothButtons(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct {
		name, value, status string
	}{
		{"decision", "approve", "charged"}, {"decision", "refuse", "rejected"}, {"approve", "1", "charged"}, {"refuse", "", "rejected"},
		{"submit", "Approve", "charged"}, {"action", "REFUSE", "rejected"},
	} {
		transaction := f.charge("4000000000003220")
		action, fields := f.browse(transaction.at("auth_params.url")).form()
		fields.Set(c.name, c.value)
		f.visit("POST", action, fields)
		if got := f.transaction(transaction.at("id")).at("status"); got != c.status {
			t.Errorf("%s=%s: %s", c.name, c.value, got)
		}
	}
}

func TestChallengeWithoutADecisionIsShownAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.charge("4000000000003220")
	address := transaction.at("auth_params.url")
	for _, undecided := range []url.Values{nil, {"decision": {"perhaps"}}, {"decision": {""}}, {"approve": {"1"}, "refuse": {"1"}}} {
		f.send(address, undecided).wantPage(200, "Simulated bank", `value="approve"`, `value="refuse"`)
	}
	f.transaction(transaction.at("id")).wantStatus("action_required", "")
	f.visit("POST", address, url.Values{"decision": {"approve"}})
	f.transaction(transaction.at("id")).wantStatus("charged", "")
	if again := f.browse(address).wantPage(200, "Simulated bank", "has already been confirmed or declined"); strings.Contains(again.body, "<button") {
		t.Errorf("%s", again.body)
	}
	f.visit("POST", address, url.Values{"decision": {"refuse"}}) // the first decision counts
	f.transaction(transaction.at("id")).wantStatus("charged", "")
}

func TestChallengeIsOpenToItsTokenOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction, otherTransaction := f.charge("4000000000003220"), f.charge("4000000000003220")
	address, err := url.Parse(transaction.at("auth_params.url"))
	must(t, err)
	otherAddress, err := url.Parse(otherTransaction.at("auth_params.url"))
	must(t, err)
	for name, value := range map[string]string{"token": otherAddress.Query().Get("token"), "reference": otherTransaction.at("id"), "terminal": uuid.NewString()} {
		for _, forged := range []string{value, "", "x"} {
			query := address.Query()
			query.Set(name, forged)
			f.visit("GET", "/simulator/challenge?"+query.Encode(), nil).wantPage(404, "Page not found")
			f.visit("POST", "/simulator/challenge?"+query.Encode(), url.Values{"decision": {"approve"}}).wantPage(404, "Page not found")
			query.Set("decision", "approve")
			f.visit("POST", "/simulator/challenge", query).wantPage(404, "Page not found")
		}
	}
	f.transaction(transaction.at("id")).wantStatus("action_required", "")
	f.transaction(otherTransaction.at("id")).wantStatus("action_required", "")
}
