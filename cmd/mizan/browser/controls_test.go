package browser_test

import (
	"fmt"

	"github.com/chromedp/chromedp"
)

// Numbers of test cards of the simulated provider.
const (
	cardCharged  = "4242424242424242"
	cardOther    = "5555555555554444"
	cardDeclined = "4000000000000002"
	cardFailed   = "4000000000000119"
	cardRedirect = "4000000000003220" // 3-D Secure on the page of the simulated bank
	cardForm     = "4000000000003063" // 3-D Secure that begins with a form, which the browser posts to the bank
	cardPassword = "4000002500003155" // a one-time password, 123456
	cardSlow     = "4000000000000077" // charged after five seconds of the business clock
	cardInvalid  = "4242424242424241"
)

// CSS selectors of controls on the payers' pages.
const (
	submitButton  = "main button[type=submit]:not([name=cancel], .enter)"
	cancelButton  = "button[name=cancel]"
	receiptLink   = "a.receipt"
	approveButton = "button[value=approve]"
	refuseButton  = "button[value=refuse]"
	cardField     = "input[name=cardnumber]"
)

// apiCard returns the member money_storage with a card, for a request that creates a payment.
func apiCard(number string) string {
	return `"money_storage":{"type":"bank_card","cardnumber":"` + number + `","cardholder":"JANE DOE","exp_month":"12","exp_year":"2034","cvv":"123"}`
}

// typedField is a form field and the text that a payer types into it.
type typedField struct{ name, text string }

// cardFields returns the fields that the page has for a card besides the number, in the page's order. The expiry date may be one
// field or two, and the form for a payout has none of these fields.
func (tb *tab) cardFields() (fields []typedField) {
	tb.t.Helper()
	for _, f := range []typedField{{"expiry", "1234"}, {"exp_month", "12"}, {"exp_year", "2034"}, {"cvv", "987"}, {"cardholder", "JANE DOE"}} {
		if tb.has("input[name=" + f.name + "]") {
			fields = append(fields, f)
		}
	}
	names := evaluate[[]string](tb, `[...document.querySelectorAll("input[name]")].map(e => e.name)`)
	ordered := make([]typedField, 0, len(fields))
	for _, name := range names {
		for _, f := range fields {
			if f.name == name {
				ordered = append(ordered, f)
			}
		}
	}
	return ordered
}

// fillCard types a card into the form. If the page offers several payment methods, fillCard first chooses the card.
func (tb *tab) fillCard(number string) {
	tb.t.Helper()
	tb.choose("bank_card")
	tb.fill(cardField, number)
	for _, f := range tb.cardFields() {
		tb.fill("input[name="+f.name+"]", f.text)
	}
}

// choose chooses a payment method, if the page offers several.
func (tb *tab) choose(method string) {
	tb.t.Helper()
	if radio := fmt.Sprintf("input[name=method][value=%s]", method); tb.has(radio + ":not(:checked)") {
		tb.do(chromedp.Click(chromedp.CSS(radio)))
	}
}

// pay types a card into the form and sends the form.
func (tb *tab) pay(number string) {
	tb.t.Helper()
	tb.fillCard(number)
	tb.press(submitButton)
}

// wantOutcome checks that the page no longer asks for input and that the transaction has this status in the API.
func (tb *tab) wantOutcome(id, status string) {
	tb.t.Helper()
	tb.wantStatus(200)
	if tb.has(cardField) || tb.has("main form input:not([type=hidden])") {
		tb.fatal("the page still asks for something")
	}
	if got := tb.site.status(tb.t, id); got != status {
		tb.fatal("the transaction is " + got + ", want " + status)
	}
}
