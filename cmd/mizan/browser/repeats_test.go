package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// A payer who repeats a step is charged only once. Each case uses another currency, so the balance in this currency shows how
// much was charged.
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

// script returns an action that evaluates a JavaScript expression, whose value must be a boolean.
func script(expression string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool](expression)(ctx, target)
		return err
	})
}

// goBack pays and then goes back to the form. The browser may show the form as it was, but it must not show what was typed.
func goBack(_ *testing.T, tb *tab, _ string) {
	tb.pay(cardCharged)
	tb.back()
	if !tb.has(cardField) {
		return
	}
	if evaluate[string](tb, `[...document.querySelectorAll("main form input:not([type=hidden])")].map(e => e.value).join("")`) != "" {
		tb.report([]finding{{ruleBack, "what was typed is shown again"}})
	}
	// DevTools can't find the elements of a page that comes from the back-forward cache, so a script fills in the form.
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
	other.reload() // the server may have made this page before the charge was complete
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

// A payer can go back from the bank's page after an earlier attempt, a refused form or a declined card. The payer then sees a
// page with a link to the bank and a cancel button. The browser must not show an error, although it can't repeat the response to
// a form.
func TestBackFromTheBankAfterAnotherAttempt(t *testing.T) {
	s := newSite(t)
	for name, first := range map[string]string{"declined": cardDeclined, "invalid": cardInvalid} {
		for _, scripts := range []bool{true, false} {
			if first == cardInvalid && !scripts {
				continue // without a script, the response 422 to an invalid form has no entry of its own in the browser's history
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
				if !scripts && tb.has(cardField) { // the browser may show the form of the earlier attempt; sending it leads to the bank too
					tb.follow(script(`(() => { document.querySelector("` + submitButton + `").click(); return true; })()`))
				} else {
					tb.press(`main:has(` + cancelButton + `) a.button[href*="/simulator/challenge"]`) // press waits for the page to which the link leads
				}
				tb.waitFor("the simulated bank", isAtTheBank)
				tb.press(approveButton)
				tb.wantMerchant("/ok", id, "charged")
				tb.wantQuiet()
			})
		}
	}
}
