package browser_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// listControls is a JavaScript expression that sets window.controls to the page's controls, in the order of the page. A group of
// radio buttons counts as one control. Its value is a list with a description of each control.
const listControls = `(() => {
	const seen = new Set();
	window.controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex='-1'])")].filter(e => {
		if (e.disabled || e.type === "hidden" || e.getClientRects().length === 0 || !e.checkVisibility()) return false;
		if (e.type !== "radio") return true;
		const isFirst = !seen.has(e.name);
		seen.add(e.name);
		return isFirst;
	});
	window.looks = e => { const s = getComputedStyle(e.type === "radio" ? e.closest("label") ?? e : e);
		const own = getComputedStyle(e);
		return [own.outlineStyle, own.outlineWidth, own.outlineColor, own.boxShadow, own.borderColor, s.outlineStyle, s.outlineWidth, s.boxShadow, s.borderColor, s.backgroundColor].join(" "); };
	if (document.activeElement) document.activeElement.blur();
	window.idle = controls.map(looks);
	return JSON.stringify(controls.map(e => e.tagName.toLowerCase() + (e.name ? "[name=" + e.name + "]" : "") + " " + (e.value || e.textContent).trim().slice(0, 30)));
})()`

// focusedControl is a JavaScript expression. It returns the index of the focused control (-1 if none is focused), the control's
// distance from the top of the page, and whether it looks different from a control without focus.
const focusedControl = `(() => {
	const active = document.activeElement;
	const index = controls.findIndex(e => e === active || e.type === "radio" && active.type === "radio" && e.name === active.name);
	if (index < 0) return JSON.stringify({index});
	return JSON.stringify({index, top: active.getBoundingClientRect().top + scrollY, bottom: active.getBoundingClientRect().bottom + scrollY,
		isVisible: looks(active) !== idle[index]});
})()`

// keyboardFindings presses Tab until every control has been focused once, and returns the breaches of the keyboard rule.
func (tb *tab) keyboardFindings() (list []finding) {
	tb.t.Helper()
	var controls []string
	decode(tb, listControls, &controls)
	add := func(format string, args ...any) {
		list = append(list, finding{ruleKeyboard, fmt.Sprintf(format, args...)})
	}
	isReached, previous, lastTop := make([]bool, len(controls)), -1, 0.0
	for range len(controls) + 2 {
		tb.do(chromedp.KeyEvent(kb.Tab))
		var focused struct {
			Index       int
			Top, Bottom float64
			IsVisible   bool
		}
		decode(tb, focusedControl, &focused)
		i := focused.Index
		if i < 0 { // after the page's last control, Tab focuses the controls of the browser itself
			previous = -1
			continue
		}
		if isReached[i] {
			break
		}
		isReached[i] = true
		switch {
		case i < previous:
			add("%s follows %s", controls[i], controls[previous])
		case previous >= 0 && focused.Bottom <= lastTop:
			add("%s is above %s, which comes before it", controls[i], controls[previous])
		}
		if !focused.IsVisible {
			add("%s does not show that it is focused", controls[i])
		}
		previous, lastTop = i, focused.Top
	}
	for i, reached := range isReached {
		if !reached {
			add("%s is never focused", controls[i])
		}
	}
	return list
}

// decode evaluates a JavaScript expression whose value is JSON text, and decodes the JSON.
func decode(tb *tab, expression string, into any) {
	tb.t.Helper()
	if err := json.Unmarshal([]byte(evaluate[string](tb, expression)), into); err != nil {
		tb.fatal(err)
	}
}

// tabTo presses Tab until an element has the focus.
func (tb *tab) tabTo(selector string) {
	tb.t.Helper()
	const maxPresses = 40
	for range maxPresses {
		if evaluate[bool](tb, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
		tb.do(chromedp.KeyEvent(kb.Tab))
	}
	tb.fatal("Tab never leads to " + selector)
}

// typeKeys types a text into the element with the focus.
func (tb *tab) typeKeys(text string) {
	tb.t.Helper()
	tb.do(chromedp.KeyEvent(text))
}

// enter presses Enter and waits for the next page.
func (tb *tab) enter() {
	tb.t.Helper()
	tb.follow(chromedp.KeyEvent(kb.Enter))
}

// A payer can use the keyboard alone, from the payment link to the outcome.
func TestPaymentByKeyboardAlone(t *testing.T) {
	s := newSite(t)
	_, address := s.link(t, `"name":"Green tea",`, `"default":1500,"currency":"CAD","min":100`, "dynamic")
	before := s.available(t, "CAD")
	tb := s.open(t, desktop)
	tb.visit(address)
	tb.tabTo("input[name=amount]")
	tb.do(chromedp.Clear(chromedp.CSS("input[name=amount]")))
	tb.typeKeys("17.50")
	tb.tabTo(submitButton)
	tb.enter()
	tb.tabTo("input[name=cardnumber]")
	tb.typeKeys(cardCharged)
	for _, field := range tb.cardFields() {
		if field.name != "cardnumber" {
			tb.tabTo("input[name=" + field.name + "]")
			tb.typeKeys(field.text)
		}
	}
	tb.tabTo(submitButton)
	tb.enter()
	tb.wantOutcome(tb.transactionID(), "charged")
	if got := s.available(t, "CAD"); got != before+1750 {
		t.Errorf("the balance rose by %d, want 1750", got-before)
	}
	challenged := s.create(t, s.Partner(), "payment", `"amount":"900","currency":"CAD",`+apiCard(cardRedirect))
	tb.visit(challenged.at("simple_auth_redirect_url"))
	tb.tabTo("button[value=approve]")
	tb.enter()
	tb.waitFor("the merchant's page", func(d document) bool { return strings.HasPrefix(d.url, s.merchant.address("/ok")) && d.isLoaded })
	tb.wantQuiet()
}
