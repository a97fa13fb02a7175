package browser_test

import (
	"fmt"

	"github.com/chromedp/chromedp"
)

// Cards of the simulator.
const (
	cardCharged  = "4242424242424242"
	cardOther    = "5555555555554444"
	cardDeclined = "4000000000000002"
	cardFailed   = "4000000000000119"
	cardRedirect = "4000000000003220" // 3-D Secure on the page of the simulated bank
	cardForm     = "4000000000003063" // 3-D Secure to which the browser posts a form
	cardPassword = "4000002500003155" // a one-time password, 123456
	cardSlow     = "4000000000000077" // charged after five seconds of the business clock
	cardInvalid  = "4242424242424241"
)

// Controls of the pages.
const (
	submitButton  = "main button[type=submit]:not([name=cancel], .enter)"
	cancelButton  = "button[name=cancel]"
	receiptLink   = "a.receipt"
	approveButton = "button[value=approve]"
	refuseButton  = "button[value=refuse]"
	cardField     = "input[name=cardnumber]"
)

// apiCard returns the member money_storage of a payment's create, with a card.
func apiCard(number string) string {
	return `"money_storage":{"type":"bank_card","cardnumber":"` + number + `","cardholder":"JANE DOE","exp_month":"12","exp_year":"2034","cvv":"123"}`
}

// typedField is a field with the text that a payer types.
type typedField struct{ name, text string }

// cardFields returns the other fields of a card on the page, in their order. The expiry is one field or two, and a payout
// needs the number only.
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

// fillCard types a card into the form. If the page offers several methods, it chooses the card first.
func (tb *tab) fillCard(number string) {
	tb.t.Helper()
	tb.choose("bank_card")
	tb.fill(cardField, number)
	for _, f := range tb.cardFields() {
		tb.fill("input[name="+f.name+"]", f.text)
	}
}

// choose chooses a method, if the page offers several.
func (tb *tab) choose(method string) {
	tb.t.Helper()
	if radio := fmt.Sprintf("input[name=method][value=%s]", method); tb.has(radio + ":not(:checked)") {
		tb.do(chromedp.Click(chromedp.CSS(radio)))
	}
}

// pay types a card and sends the form.
func (tb *tab) pay(number string) {
	tb.t.Helper()
	tb.fillCard(number)
	tb.press(submitButton)
}

// wantOutcome checks that the page shows how the transaction ended, and that the API says the same.
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
