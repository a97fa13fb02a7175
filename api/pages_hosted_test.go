package api_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// card returns the form fields that a payer fills in, with the card's number.
func card(number string) url.Values {
	return url.Values{"cardnumber": {number}, "cardholder": {"JOHN DOE"}, "expiry": {"12/30"}, "cvv": {"987"}}
}

func TestHostedPaymentIsPaidOnThePage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setHostedAttempts("1")
	for _, c := range []struct{ fields, cardNumber, title, status, reason, text string }{
		{"", "4242424242424242", "Paid", "charged", "", "You can close this page."},
		{`,"returnUrl":"` + failURL + `"`, "4242 4242-4242 4242", "Paid", "charged", "", `href="` + failURL + `">`},
		{`,"failUrl":"` + failURL + `"`, "4000000000000002", "Not paid", "rejected", "card_declined", `href="` + failURL + `">`},
		{"", "4000000000009995", "Not paid", "rejected", "insufficient_funds", "not enough money"},
		{"", "4000000000000119", "Not paid", "failed", "processing_error", "could not process"},
	} {
		transaction := f.createHosted(c.fields + `,"description":"Red shoes"`)
		if transaction.at("status") != "created" {
			t.Errorf("%s", transaction.body)
		}
		page := f.browse(transaction.at("widget_url")).wantPage(200, checkoutTitle, "$12.50", "Red shoes", "no money moves", "autocomplete=\"cc-number\"")
		action, _ := page.form()
		f.send(action, card(c.cardNumber)).wantPage(200, c.title, c.text)
		f.transaction(transaction.at("id")).wantStatus(c.status, c.reason)
		f.send(action, card("4242424242424242")).wantPage(200, c.title) // the form can be sent only once
		f.transaction(transaction.at("id")).wantStatus(c.status, c.reason)
	}
}

func TestHostedPaymentGoesThroughTheChallenge(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	action, _ := f.browse(transaction.at("widget_url")).form()
	challenge := f.send(action, card("4000000000003220"))
	f.transaction(transaction.at("id")).wantStatus("action_required", "")
	f.follow(f.answerChallenge(challenge, "approve")).wantPage(200, "Paid")
	f.transaction(transaction.at("id")).wantStatus("charged", "")
}

// The link to the hosted page is valid for 15 minutes. A payer who has begun to pay may take longer: as long as the provider
// waits for the payer's action, such as a password.
func TestStartedHostedPaymentOutlivesItsLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	action, _ := f.browse(transaction.at("widget_url")).form()
	confirmation, _ := f.send(action, card("4000002500003155")).wantPage(200, "Confirm with a password").form()
	f.advanceBy(16 * time.Minute)
	f.browse(transaction.at("widget_url")).wantPage(410, "This link is no longer valid")
	f.browse(action).wantPage(200, "Confirm with a password")
	f.send(confirmation, url.Values{"otp": {"123456"}}).wantPage(200, "Paid")
	f.transaction(transaction.at("id")).wantStatus("charged", "")
}

func TestHostedLinkLastsFifteenMinutes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	address := transaction.at("widget_url")
	f.advanceBy(15*time.Minute - time.Microsecond)
	f.browse(address).wantPage(200, checkoutTitle)
	f.advanceBy(time.Microsecond)
	f.browse(address).wantPage(410, "This link is no longer valid")
	f.send(address, card("4242424242424242")).wantPage(410, "This link is no longer valid")
	f.transaction(transaction.at("id")).wantStatus("created", "")
}

func TestHostedPayoutAcceptsACardNumber(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.partner().post(transactions, `{"params":{"env":"test","type":"payout","amount":"1250","currency":"USD","hosted":true}}`).want(201, "")
	action, _ := f.browse(transaction.at("widget_url")).wantPage(200, payoutTitle, "$12.50").form()
	f.send(action, url.Values{"cardnumber": {"4242424242424241"}}).wantPage(422, payoutTitle, "Check the card number")
	f.send(action, url.Values{"cardnumber": {"4242424242424242"}}).wantPage(200, "The money is on its way to you")
	f.transaction(transaction.at("id")).wantStatus("charged", "")
}

// randomText matches the tokens and ids in a page. The test ignores them, because they may contain the three digits of the card's
// CVV by chance.
var randomText = regexp.MustCompile(`[A-Za-z0-9_-]{20,}`)

func TestInvalidCardIsRefusedAndNotShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	action, _ := f.browse(transaction.at("widget_url")).form()
	for _, c := range []struct{ field, typed, text string }{
		{"cardnumber", "4242424242424241", "Check the card number"},
		{"cardnumber", "4242x24242424242", "Check the card number"},
		{"cardnumber", "", "Check the card number"},
		{"cardholder", "", "Enter the name"},
		{"cardholder", strings.Repeat("x", 256), "Enter the name"},
		{"expiry", "13/30", "Enter month and year"},
		{"expiry", "", "Enter month and year"},
		{"expiry", "12/203", "Enter month and year"},
		{"cvv", "9876", "exactly three digits"},
		{"cvv", "98", "exactly three digits"},
		{"cvv", "", "exactly three digits"},
	} {
		form := card("4242424242424242")
		form.Set(c.field, c.typed)
		page := f.send(action, form).wantPage(422, checkoutTitle, c.text, `aria-describedby="`+c.field+`-wrong`)
		if strings.Count(page.body, `class="wrong"`) != 1 {
			t.Errorf("%s: other fields are marked too: %s", c.field, page.body)
		}
		for _, typed := range []string{form.Get("cardnumber"), form.Get("cvv")} {
			if len(typed) >= 3 && strings.Contains(randomText.ReplaceAllString(page.body, ""), typed) {
				t.Errorf("%s: the page shows %q", c.field, typed)
			}
		}
		incompleteForm := card("4242424242424242")
		incompleteForm.Del(c.field)
		f.send(action, incompleteForm).wantPage(422, checkoutTitle, c.text)
	}
	f.transaction(transaction.at("id")).wantStatus("created", "")
	f.send(action, card("4242424242424242")).wantPage(200, "Paid")
}

func TestPageWaitsForTheProvider(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	action, _ := f.browse(transaction.at("widget_url")).form()
	f.send(action, card("4000000000000077")).wantPage(200, "Processing", `<meta http-equiv="refresh" content="3; url=/pay/`, `data-poll="processing"`)
	f.transaction(transaction.at("id")).wantStatus("charging", "")
	f.advanceBy(5 * time.Second)
	f.browse(action).wantPage(200, "Paid")
}

func TestHeldMoneyIsApproved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	terminals := f.admin().get("/api/v1/terminals?partner_id=1").want(200, "")
	patchedTerminals := 0
	for i := range terminals.rows() {
		row := "data." + string(rune('0'+i))
		if terminals.at(row+".type") == "payment" && terminals.at(row+".env") == "test" {
			f.admin().patch("/api/v1/terminal/"+terminals.at(row+".id"), `{"provider_params":{"two_phase":true}}`).want(200, "")
			patchedTerminals++
		}
	}
	if patchedTerminals != 1 {
		t.Fatalf("%d terminals: %s", patchedTerminals, terminals.body)
	}
	transaction := f.createHosted("")
	action, _ := f.browse(transaction.at("widget_url")).form()
	f.send(action, card("4242424242424242")).wantPage(200, "Approved")
	f.transaction(transaction.at("id")).wantStatus("payment_suspended", "")
	redirected := f.charge("4000000000003220").wantStatus("action_required", "")
	f.follow(f.answerChallenge(f.browse(redirected.at("simple_auth_redirect_url")), "approve")).wantRedirect(returnURL)
	f.transaction(redirected.at("id")).wantStatus("payment_suspended", "")
}
