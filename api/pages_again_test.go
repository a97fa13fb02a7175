package api_test

import (
	"net/url"
	"strings"
	"testing"
	"time"
)

// A payer who comes back late must not pay again. So an expired URL shows how the payment has ended, but does not link to its
// receipt.
func TestExpiredAddressSaysHowThePaymentHasEnded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct{ fields, number, title, back string }{
		{`,"returnUrl":"` + failURL + `"`, "4242424242424242", "Paid", `href="` + failURL + `"`},
		{"", declinedCard, "Not paid", ""},
	} {
		f.setHostedAttempts("1")
		transaction := f.createHosted(c.fields)
		address := f.opened(transaction.at("widget_url"))
		f.send(address, card(c.number)).wantPage(200, c.title)
		f.advanceBy(time.Hour)
		for _, method := range []string{"GET", "POST"} {
			f.visit(method, address, card("4242424242424242")).wantPage(410, c.title, c.back).wantNoText("start again", "/receipt?", `data-go="`, "http-equiv")
		}
	}
	waiting := f.createHosted("")
	f.advanceBy(16 * time.Minute)
	f.browse(waiting.at("widget_url")).wantPage(410, "This link is no longer valid")
}

// The response to a form is always a redirect. If it were a page, a payer who comes back to it would have to send the form again.
// A page to which the payer comes back does not continue to the provider by itself.
func TestDeclineIsAPageOfItsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	address := f.opened(transaction.at("widget_url"))
	f.visit("POST", address, card(declinedCard)).wantRedirect(address + "&posted")
	f.visit("GET", address+"&posted", nil).wantRedirect(address)
	second := f.visit("GET", address, nil).wantPage(200, checkoutTitle, "The card was declined.")
	f.fill(second, card(challengedCard)).wantPage(200, "Simulated bank")
	f.browse(address).wantPage(200, "Continue to your bank", `name="cancel"`).wantNoText(`data-go="`, "http-equiv")
}

// After a decline the form shows the values that the payer typed once. Then the server forgets them.
func TestDeclinedFormIsShownOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, action := f.payerForm("")
	other, otherAction := f.payerForm("")
	f.visit("POST", action, card(declinedCard))
	f.visit("POST", otherAction, url.Values{"cardnumber": {declinedCard}, "cardholder": {"ANNA KARENINA"}, "expiry": {"11/31"}, "cvv": {"987"}})
	f.anyone().do("HEAD", action, "")
	f.browse(action).wantPage(200, checkoutTitle, `value="JOHN DOE"`, `value="12/30"`).wantNoText("KARENINA", declinedCard, `"987"`)
	f.browse(action).wantPage(200, checkoutTitle, "The card was declined.").wantNoText("JOHN DOE", "12/30")
	f.browse(otherAction).wantPage(200, checkoutTitle, `value="ANNA KARENINA"`)
	f.wantRouting(other, "1 refused card_declined")
}

// After a decline, and after a rise of the fee, the form still has the values that the payer typed, except the card's number and
// CVV.
func TestDeclineLosesNothingThatWasTyped(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, action := f.payerForm("")
	declined := f.send(action, card(declinedCard)).wantPage(200, checkoutTitle, "The card was declined.", `value="12/30"`, `value="JOHN DOE"`)
	declined.wantNoText(declinedCard, `"987"`)
	f.setTerminalParams("payment", `{"fee_bps":"500","fee_mode":"on_top"}`)
	_, form := declined.form()
	for name, values := range card("4242424242424242") {
		form[name] = values
	}
	form.Set("cardholder", "ANNA KARENINA")
	risen := f.send(action, form).wantPage(422, checkoutTitle, "The fee has changed", `value="12/30"`, `value="ANNA KARENINA"`)
	risen.wantNoText("4242424242424242", `"987"`)
	f.fill(risen, card("4242424242424242")).wantPage(200, "Paid", "$13.12")
	f.wantRouting(id, "1 refused card_declined", "2 accepted null")
}

// After a decline the form has the same payment method chosen.
func TestDeclinedMethodStaysChosen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.useTerminals("payment", `"methods":["bank_card"]`, `"methods":["direct_debit"],"priority":1`)
	_, action := f.payerForm("")
	f.send(action, url.Values{"method": {"direct_debit"}, "routing_number": {"021000021"}}).wantMethods("direct_debit", "bank_card", "direct_debit")
}

// After a refusal the page has the refused payment method chosen. The page suggests another card only if a card was refused.
func TestRefusedMethodIsOfferedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const again, card, way = "<p>Nothing has been charged. Try again. You", "<p>Nothing has been charged. Try again, or use another card. You", "<p>Nothing has been charged. Try again, or choose another way to pay. You"
	for _, c := range []struct{ methods, method, want string }{
		{`"bank_card","qr_code"`, "bank_card", card}, {`"bank_card"`, "bank_card", card}, {`"bank_card","qr_code"`, "qr_code", way},
		{`"bank_card","crypto"`, "crypto", way}, {`"qr_code"`, "qr_code", again},
	} {
		f.useTerminals("payment", `"methods":[`+c.methods+`]`)
		_, action := f.payerForm("")
		offered := strings.Split(strings.ReplaceAll(c.methods, `"`, ""), ",")
		f.tryMethod(action, c.method).wantPage(200, checkoutTitle, c.want).wantMethods(c.method, offered...)
		f.browse(action).wantPage(200, checkoutTitle, c.want).wantMethods(c.method, offered...)
	}
}

// tryMethod pays by the given method on the page at a URL, and lets the provider refuse the payment.
func (f *fixture) tryMethod(address, method string) *response {
	f.t.Helper()
	if method == "bank_card" {
		return f.tryCard(address, declinedCard)
	}
	confirmation := f.fill(f.browse(address), url.Values{"method": {method}})
	return f.fill(confirmation, url.Values{"decision": {"refuse"}})
}

// A card whose expiry month is over in all time zones is refused without using an attempt.
func TestPastExpiryIsMarkedAndNotTried(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id, action := f.payerForm("")
	now := f.Clock.Now().UTC()
	form := card("4242424242424242")
	for _, past := range []string{"01/20", now.AddDate(0, -2, 1-now.Day()).Format("01/06"), now.AddDate(-1, 0, 0).Format("01/2006")} {
		form.Set("expiry", past)
		f.send(action, form).wantPage(422, checkoutTitle, `<p class="wrong" id="expiry-wrong">The card has expired.</p>`)
	}
	f.wantRouting(id)
	form.Set("expiry", now.Format("01/06"))
	f.send(action, form).wantPage(200, "Paid")
}

// A payer who comes back from the provider's page can go there again, or cancel.
func TestPayerComesBackFromTheProvidersPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	address := f.opened(transaction.at("widget_url"))
	bank := f.visit("GET", f.visit("POST", address, card("4000000000003220")).header.Get("location"), nil).header.Get("location")
	if !strings.Contains(bank, "/simulator/challenge") {
		t.Fatalf("the payer is sent to %q", bank)
	}
	back := f.browse(address).wantPage(200, "Continue to your bank", `class="button" href="`, `name="cancel"`)
	back.wantNoText(`data-go="`, "http-equiv")
	f.fill(back, url.Values{"cancel": {"1"}}).wantPage(200, "Not paid")
	f.transaction(transaction.at("id")).wantStatus("failed", "cancelled")
}

// If a payment at a link without fail_url has failed or was cancelled, a button leads the payer back to the link.
func TestPayerGoesBackToTheLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := f.testLink("", `"default":1250`, "fixed").at("data.url")
	for _, cancelled := range []bool{true, false} {
		begun := f.send(link, url.Values{}).wantPage(200, checkoutTitle)
		form := card("4000000000000119")
		if cancelled {
			form = url.Values{"cancel": {"1"}}
		}
		f.fill(begun, form).wantPage(200, "Not paid", `<a class="button" href="`+link+`">`).wantNoText(`data-go="`, "http-equiv")
	}
	paid := f.fill(f.send(link, url.Values{}), card("4242424242424242")).wantPage(200, "Paid")
	paid.wantNoText(link)
}

// The pages that ask for a password or a bank also show a countdown, and reload when the payer's time is over.
func TestEveryPageOfAPayerCountsDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, action := f.payerForm("")
	f.send(action, card("4000002500003155")).wantPage(200, "Confirm with a password", `data-left="`, `http-equiv="refresh" content="`)
	payout := f.create(`"type":"payout","amount":"1250","currency":"EUR","money_storage":{"type":"open_banking"}`).wantStatus("action_required", "")
	f.browse(payout.at("simple_auth_redirect_url")).wantPage(200, "Choose your bank", `data-left="`, `http-equiv="refresh" content="`)
}
