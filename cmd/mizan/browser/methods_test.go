package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// showAllMethods is a JavaScript expression. It makes the page look as it does in a browser without the CSS selector :has(),
// where the fields and buttons of all payment methods are shown at once.
const showAllMethods = `(() => {
	for (const sheet of document.styleSheets)
		[...sheet.cssRules].forEach(rule => { if (rule.selectorText?.includes(".method:has(")) rule.selectorText = ".enter"; });
	return [...document.querySelectorAll("button[name=pay]")].every(button => button.checkVisibility());
})()`

// If each payment method has a button with its total, the payer pays by the method whose button is pressed. If the payer presses
// Enter in a field, the payment is made by the chosen method.
func TestEachMethodIsPaidByItsButtonAndByEnter(t *testing.T) {
	s := newSite(t)
	s.prepareMethods(t)
	const account = "input[name=account_number]"
	for _, c := range []struct {
		name    string
		showAll bool
		chosen  string
		act     func(tb *tab)
		title   string
	}{
		{"button of the card", false, "bank_card", func(tb *tab) { tb.fillCard(cardCharged); tb.press("button[value=bank_card]") }, "Paid"},
		{"button of the QR code", false, "qr_code", func(tb *tab) { tb.press("button[value=qr_code]") }, "Scan to pay"},
		{"Enter at the card", false, "bank_card", func(tb *tab) { tb.fillCard(cardCharged); tb.enter() }, "Paid"},
		{"Enter at the account", false, "direct_debit", func(tb *tab) { tb.fillAccount(); tb.do(focus(account)); tb.enter() }, "Paid"},
		{"button of the QR code, all shown", true, "bank_card", func(tb *tab) { tb.press("button[value=qr_code]") }, "Scan to pay"},
		{"button of the account, all shown", true, "bank_card", func(tb *tab) { tb.fillAccount(); tb.press("button[value=direct_debit]") }, "Paid"},
		{"Enter at the account, all shown", true, "direct_debit", func(tb *tab) { tb.fillAccount(); tb.do(focus(account)); tb.enter() }, "Paid"},
	} {
		for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
			t.Run(c.name+" "+name, func(t *testing.T) {
				t.Parallel()
				v := desktop
				v.scripts = scripts
				tb := s.open(t, v)
				showMethods(tb)
				tb.choose(c.chosen)
				if c.showAll && !evaluate[bool](tb, showAllMethods) {
					tb.fatal("a button is hidden")
				}
				c.act(tb)
				tb.wantTitle(c.title)
				tb.wantQuiet()
			})
		}
	}
}

// In a browser that shows the fields of all payment methods, a method is chosen when the payer fills in its fields.
func TestTypingChoosesTheMethod(t *testing.T) {
	s := newSite(t)
	s.prepareMethods(t)
	tb := s.open(t, desktop)
	showMethods(tb)
	if !evaluate[bool](tb, showAllMethods) {
		tb.fatal("a button is hidden")
	}
	tb.fillAccount()
	if !tb.has("input[value=direct_debit]:checked") {
		tb.fatal("the method of the fields is not chosen")
	}
	tb.enter()
	tb.wantTitle("Paid")
	tb.wantQuiet()
}

// wantTitle checks the heading of the page.
func (tb *tab) wantTitle(want string) {
	tb.t.Helper()
	if got := evaluate[string](tb, `document.querySelector("h1").textContent`); got != want {
		tb.fatal(fmt.Sprintf("the title is %q, want %q", got, want))
	}
}

// fillAccount fills in the numbers of the bank account for a direct debit in USD.
func (tb *tab) fillAccount() {
	tb.t.Helper()
	tb.fill("input[name=routing_number]", "110000000")
	tb.fill("input[name=account_number]", "000123456789")
}

func focus(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Focus(chromedp.CSS(selector))
}
