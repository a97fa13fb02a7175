package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// A payer who repeats a step is charged once. Each case has a currency of its own, so the balance in it shows how
// often the payer was charged.
func TestRepeatedStepsChargeOnce(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct {
		name, currency string
		walk           func(t *testing.T, tb *tab, address string)
	}{
		{"two clicks at once", "CHF", clickTwice},
		{"two submits by a script", "UAH", submitTwice},
		{"back after the form", "AZN", goBack},
		{"reload of the outcome", "GBP", reloadTheOutcome},
		{"two tabs at once", "TRY", payInTwoTabs},
		{"paid elsewhere", "KZT", payElsewhere},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			id, address := s.hosted(t, "payment", `"amount":"1250","currency":"`+c.currency+`"`)
			before := s.available(t, c.currency)
			tb := s.open(t, desktop)
			tb.visit(address)
			c.walk(t, tb, address)
			tb.wantOutcome(id, "charged")
			if got := s.available(t, c.currency); got != before+1250 {
				t.Errorf("the balance rose by %d, want 1250", got-before)
			}
			tb.wantQuiet()
		})
	}
}

func clickTwice(_ *testing.T, tb *tab, _ string) {
	tb.fillCard(cardCharged)
	tb.follow(chromedp.DoubleClick(chromedp.CSS(submitButton)))
}

func submitTwice(_ *testing.T, tb *tab, _ string) {
	tb.fillCard(cardCharged)
	tb.follow(script(`(() => { const button = document.querySelector("` + submitButton + `"); button.click(); button.click(); return true; })()`))
}

// script is an action that evaluates an expression, which is true.
func script(expression string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool](expression)(ctx, target)
		return err
	})
}

// goBack goes back to the form, which the browser may show as it was, but without what was typed.
func goBack(_ *testing.T, tb *tab, _ string) {
	tb.pay(cardCharged)
	tb.back()
	if !tb.has(cardField) {
		return
	}
	if evaluate[string](tb, `[...document.querySelectorAll("main form input:not([type=hidden])")].map(e => e.value).join("")`) != "" {
		tb.report([]finding{{ruleBack, "what was typed is shown again"}})
	}
	// The DevTools can't point at elements of a page that the browser brought back, so a script fills in the form.
	fill := `const set = (name, text) => { const field = document.querySelector("input[name=" + name + "]"); if (field) field.value = text; }; set("cardnumber", "` + cardOther + `");`
	for _, f := range tb.cardFields() {
		fill += fmt.Sprintf("set(%q, %q);", f.name, f.text)
	}
	tb.follow(script(`(() => { ` + fill + ` document.querySelector("` + submitButton + `").click(); return true; })()`))
}

func reloadTheOutcome(_ *testing.T, tb *tab, _ string) {
	tb.pay(cardCharged)
	tb.reload()
	tb.reload()
}

func payInTwoTabs(t *testing.T, tb *tab, address string) {
	other := tb.second(t)
	other.visit(address)
	tb.fillCard(cardCharged)
	other.fillCard(cardOther)
	sent := make(chan error, 1)
	earlier := other.events.current().number
	go func() { sent <- chromedp.Do(other.ctx, click(submitButton)) }()
	tb.press(submitButton)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	other.waitFor("another page", func(d document) bool { return d.number > earlier && d.isLoaded })
	other.reload() // its page may have been made while the charge was under way
	other.wantOutcome(other.transactionID(), "charged")
	other.wantQuiet()
	tb.reload()
}

func payElsewhere(t *testing.T, tb *tab, address string) {
	other := tb.second(t)
	other.visit(address)
	other.pay(cardCharged)
	other.wantOutcome(other.transactionID(), "charged")
	tb.pay(cardOther)
}

// A payer who goes back from the bank after a refused form or a declined card sees a page with a link to the bank and a button
// that cancels. The payer sees no error of the browser, although a browser can't show the response to a form again.
func TestBackFromTheBankAfterAnotherAttempt(t *testing.T) {
	s := newSite(t)
	for name, first := range map[string]string{"declined": cardDeclined, "invalid": cardInvalid} {
		for _, scripts := range []bool{true, false} {
			if first == cardInvalid && !scripts {
				continue // the response to a form that names the wrong fields is 422; a script gives it an entry of its own in the history
			}
			t.Run(fmt.Sprintf("%s, scripts %v", name, scripts), func(t *testing.T) {
				t.Parallel()
				id, address := s.hosted(t, "payment", `"amount":"1250","currency":"USD"`)
				tb := s.open(t, view{width: 1280, lang: "en", scripts: scripts})
				tb.visit(address)
				tb.pay(first)
				tb.fillCard(cardRedirect)
				tb.press(submitButton)
				tb.waitFor("the simulated bank", isAtTheBank)
				tb.back()
				tb.wantStatus(http.StatusOK)
				if !scripts && tb.has(cardField) { // the browser may show the form as it was, which is of an earlier step and leads to the bank too
					tb.follow(script(`(() => { document.querySelector("` + submitButton + `").click(); return true; })()`))
				} else {
					tb.press(`main:has(` + cancelButton + `) a.button[href*="/simulator/challenge"]`) // which waits for the page
				}
				tb.waitFor("the simulated bank", isAtTheBank)
				tb.press(approveButton)
				tb.wantMerchant("/ok", id, "charged")
				tb.wantQuiet()
			})
		}
	}
}
