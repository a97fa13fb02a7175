package api_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// card returns the fields that a payer types.
func card(number string) url.Values {
	return url.Values{"cardnumber": {number}, "cardholder": {"JOHN DOE"}, "exp_month": {"12"}, "exp_year": {"2030"}, "cvv": {"987"}}
}

func TestHostedPaymentIsPaidOnThePage(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, c := range []struct{ fields, typed, title, status, reason, text string }{
		{"", "4242424242424242", "Paid", "charged", "", "You can close this page."},
		{`,"returnUrl":"` + shopNo + `"`, "4242 4242-4242 4242", "Paid", "charged", "", `<a href="` + shopNo + `">`},
		{`,"failUrl":"` + shopNo + `"`, "4000000000000002", "Not paid", "rejected", "card_declined", `<a href="` + shopNo + `">`},
		{"", "4000000000009995", "Not paid", "rejected", "insufficient_funds", "not enough money"},
		{"", "4000000000000119", "Not paid", "failed", "processing_error", "could not process"},
	} {
		made := h.hosted(c.fields + `,"description":"Red shoes"`)
		if made.at("status") != "created" {
			t.Errorf("%s", made.body)
		}
		page := h.browse(made.at("widget_url")).wantPage(200, "Pay by card", "12.50 USD", "Red shoes", "no money moves", "autocomplete=\"cc-number\"")
		action, _ := page.form()
		h.send(action, card(c.typed)).wantPage(200, c.title, c.text)
		h.transaction(made.at("id")).wantStatus(c.status, c.reason)
		h.send(action, card("4242424242424242")).wantPage(200, c.title) // the form can be sent only once
		h.transaction(made.at("id")).wantStatus(c.status, c.reason)
	}
}

func TestHostedPaymentGoesThroughTheChallenge(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made := h.hosted("")
	action, _ := h.browse(made.at("widget_url")).form()
	challenge := h.send(action, card("4000000000003220"))
	h.transaction(made.at("id")).wantStatus("action_required", "")
	h.follow(h.answerChallenge(challenge, "approve")).wantPage(200, "Paid")
	h.transaction(made.at("id")).wantStatus("charged", "")
}

// The link to the hosted page is valid for 15 minutes. A payer who has begun to pay has the
// time of the action.
func TestStartedHostedPaymentOutlivesItsLink(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made := h.hosted("")
	action, _ := h.browse(made.at("widget_url")).form()
	next, _ := h.send(action, card("4000002500003155")).wantPage(200, "Confirm with a password").form()
	h.advanceBy(16 * time.Minute)
	h.browse(made.at("widget_url"))
	h.browse(action).wantPage(410, "This link is no longer valid")
	h.send(next, url.Values{"otp": {"123456"}}).wantPage(200, "Paid")
	h.transaction(made.at("id")).wantStatus("charged", "")
}

func TestHostedLinkLastsFifteenMinutes(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made := h.hosted("")
	address := made.at("widget_url")
	h.advanceBy(15*time.Minute - time.Microsecond)
	h.browse(address).wantPage(200, "Pay by card")
	h.advanceBy(time.Microsecond)
	h.browse(address).wantPage(410, "This link is no longer valid")
	h.send(address, card("4242424242424242")).wantPage(410, "This link is no longer valid")
	h.transaction(made.at("id")).wantStatus("created", "")
}

func TestHostedPayoutAcceptsACardNumber(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made := h.partner().post(transactions, `{"params":{"env":"test","type":"payout","amount":"1250","currency":"USD","hosted":true}}`).want(201, "")
	action, _ := h.browse(made.at("widget_url")).wantPage(200, "Receive to a card", "12.50 USD").form()
	h.send(action, url.Values{"cardnumber": {"4242424242424241"}}).wantPage(422, "Receive to a card", "Check the card number")
	h.send(action, url.Values{"cardnumber": {"4242424242424242"}}).wantPage(200, "The money is on its way to you")
	h.transaction(made.at("id")).wantStatus("charged", "")
}

// randomText is a token or an id in a page, which may hold any three digits by chance.
var randomText = regexp.MustCompile(`[A-Za-z0-9_-]{20,}`)

func TestInvalidCardIsRefusedAndNotShown(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made := h.hosted("")
	action, _ := h.browse(made.at("widget_url")).form()
	for _, c := range []struct{ field, typed, text string }{
		{"cardnumber", "4242424242424241", "Check the card number"},
		{"cardnumber", "4242x24242424242", "Check the card number"},
		{"cardnumber", "", "Check the card number"},
		{"cardholder", "", "Type the name"},
		{"cardholder", strings.Repeat("x", 256), "Type the name"},
		{"exp_month", "13", "The month is a number"},
		{"exp_month", "", "The month is a number"},
		{"exp_year", "203", "The year has two or four digits"},
		{"cvv", "9876", "exactly three digits"},
		{"cvv", "98", "exactly three digits"},
		{"cvv", "", "exactly three digits"},
	} {
		form := card("4242424242424242")
		form.Set(c.field, c.typed)
		page := h.send(action, form).wantPage(422, "Pay by card", c.text, `aria-describedby="`+c.field+`-wrong"`)
		if strings.Count(page.body, `class="wrong"`) != 2 {
			t.Errorf("%s: other fields are marked too: %s", c.field, page.body)
		}
		for _, typed := range []string{form.Get("cardnumber"), form.Get("cardholder"), form.Get("cvv")} {
			if len(typed) >= 3 && strings.Contains(randomText.ReplaceAllString(page.body, ""), typed) {
				t.Errorf("%s: the page shows %q", c.field, typed)
			}
		}
		missing := card("4242424242424242")
		missing.Del(c.field)
		h.send(action, missing).wantPage(422, "Pay by card", c.text)
	}
	h.transaction(made.at("id")).wantStatus("created", "")
	h.send(action, card("4242424242424242")).wantPage(200, "Paid")
}

func TestPageWaitsForTheProvider(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	made := h.hosted("")
	action, _ := h.browse(made.at("widget_url")).form()
	h.send(action, card("4000000000000077")).wantPage(200, "Being processed", `<meta http-equiv="refresh" content="3">`)
	h.transaction(made.at("id")).wantStatus("charging", "")
	h.advanceBy(5 * time.Second)
	h.browse(action).wantPage(200, "Paid")
}

func TestHeldMoneyIsApproved(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	terminals := h.admin().get("/api/v1/terminals?partner_id=1").want(200, "")
	patched := 0
	for i := range terminals.rows() {
		at := "data." + string(rune('0'+i))
		if terminals.at(at+".type") == "payment" && terminals.at(at+".env") == "test" {
			h.admin().patch("/api/v1/terminal/"+terminals.at(at+".id"), `{"provider_params":{"two_phase":true}}`).want(200, "")
			patched++
		}
	}
	if patched != 1 {
		t.Fatalf("%d terminals: %s", patched, terminals.body)
	}
	made := h.hosted("")
	action, _ := h.browse(made.at("widget_url")).form()
	h.send(action, card("4242424242424242")).wantPage(200, "Approved")
	h.transaction(made.at("id")).wantStatus("payment_suspended", "")
	redirected := h.charge("4000000000003220").wantStatus("action_required", "")
	h.follow(h.answerChallenge(h.browse(redirected.at("simple_auth_redirect_url")), "approve")).wantRedirect(shopOK)
	h.transaction(redirected.at("id")).wantStatus("payment_suspended", "")
}
