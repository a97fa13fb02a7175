package browser_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// framePages are pages of the console that belong to none of its areas. Each has the role that opens it (empty: nobody has
// signed in) and the expected HTTP status.
var framePages = []struct {
	name, role, path string
	status           int64
}{
	{"login", "", "/console/login", http.StatusOK},
	{"home-admin", "admin", "/console/", http.StatusOK},
	{"home-partner", "partner", "/console/", http.StatusOK},
	{"settings", "auditor", "/console/settings", http.StatusOK},
	{"unknown", "client", "/console/nowhere", http.StatusNotFound},
	{"forbidden", "partner", "/console/admin/partners", http.StatusForbidden},
}

// The pages of the console that belong to no area keep the rules of findings_test.go in each language, in light and in dark
// colors, on every screen.
func TestFrameOfTheConsoleIsSound(t *testing.T) {
	s := newSite(t)
	for _, p := range framePages {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			tb := s.open(t, desktop)
			if p.role != "" {
				tb = s.signInAs(t, desktop, p.role)
			}
			for _, lang := range triedLanguages {
				for _, isDark := range []bool{false, true} {
					if testing.Short() && isDark != (lang == "ar") {
						continue
					}
					t.Run(fmt.Sprintf("%s-dark-%t", lang, isDark), func(t *testing.T) {
						tb.beginView(t, view{width: 320, lang: lang, isDark: isDark, scripts: true}, tb.payerIP)
						tb.visit(s.BaseURL + p.path)
						tb.wantStatus(p.status)
						found, m, err := tb.findings()
						if err != nil {
							tb.fatal(err)
						}
						if tb.report(found); m.Heading == "" {
							t.Error("there is no heading")
						}
						if !isDark {
							tb.report(tb.keyboardFindings())
						}
						for _, width := range triedWidths {
							tb.report(tb.widen(width))
							tb.keepScreenshot(fmt.Sprintf("frame-%s-%s-dark-%t-%d", p.name, lang, isDark, width))
						}
					})
				}
			}
		})
	}
}

// Without scripts a person signs in, filters a list, fills in a form, refunds a payment, changes the language and signs out.
func TestConsoleWithoutScripts(t *testing.T) {
	s := newSite(t)
	charged := s.create(t, s.Partner(), "payment", `"amount":"123456","currency":"USD",`+apiCard(cardCharged)).at("id")
	declined := s.create(t, s.Partner(), "payment", `"amount":"777","currency":"USD",`+apiCard(cardDeclined)).at("id")
	tb := s.signInAs(t, view{width: 768, lang: "en"}, "partner")

	tb.visit(s.BaseURL + "/console/payments")
	tb.do(setValue("select[name=env]", "test"), setValue("select[name=status]", "charged"))
	tb.press(".filters button[type=submit]")
	if row := "tbody a[href='/console/payments/%s']"; !tb.has(fmt.Sprintf(row, charged)) || tb.has(fmt.Sprintf(row, declined)) {
		tb.fatal("the list is not filtered")
	}

	tb.visit(s.BaseURL + "/console/products/new")
	tb.do(setValue("input[name=header]", "Mint tea"), setValue("[name=text]", "Fresh"), setValue("select[name=env]", "test"))
	tb.press(postButton)
	tb.wantStatus(http.StatusOK)
	if products := s.send(t, s.Partner(), "GET", "/products?env=test", nil, http.StatusOK); products.at("data.0.header") != "Mint tea" {
		tb.fatal(fmt.Sprint("the form makes no product: ", products))
	}

	tb.visit(s.BaseURL + "/console/payments/" + charged)
	tb.press("main a[href$='/refund']")
	tb.fill("input[name=amount]", "1234.57")
	tb.press(postButton)
	tb.wantStatus(http.StatusUnprocessableEntity)
	if !tb.has("input[name=amount][aria-invalid=true]") || s.status(t, charged) != "charged" {
		tb.fatal("more than the payment is refunded")
	}
	tb.fill("input[name=amount]", "1,000.50")
	tb.press(postButton)
	tb.wantStatus(http.StatusOK)
	refunded := s.send(t, s.Partner(), "GET", "/transactions/"+charged, nil, http.StatusOK)
	if got := refunded.at("refunds.0.amount"); got != "100050" || refunded.at("refunds.1.amount") != "" {
		tb.fatal("refunded is " + got + ", want 100050")
	}

	tb.wantQuiet()

	tb = s.signInAs(t, tb.view, "client") // the sandbox's partner can't change the language, because it is not a user record with settings
	tb.visit(s.BaseURL + "/console/settings")
	tb.do(setValue("#lang", "ar"))
	tb.press("form[action$='/language'] button")
	if got := evaluate[string](tb, `document.documentElement.lang + " " + getComputedStyle(document.body).direction`); got != "ar rtl" {
		tb.fatal("the page is " + got)
	}
	tb.press("header form[action='/console/logout'] button")
	tb.visit(s.BaseURL + "/console/settings")
	if !strings.Contains(tb.events.current().url, "/console/login") || !tb.has("input[name=pass]") {
		tb.fatal("a page opens after signing out")
	}
	tb.wantQuiet()
}

// postButton is the selector of the button that sends a form with the method POST.
const postButton = "main form[method=post] .actions button[type=submit]"

// isHelpOpen is a JavaScript expression that tells whether the list of shortcuts is shown.
const isHelpOpen = `document.getElementById("keys").open`

// The shortcut keys in the list of shortcuts lead to the pages that the list names. Other keys lead to the search field, and
// open the list of shortcuts.
func TestShortcutsOfTheConsole(t *testing.T) {
	s := newSite(t)
	for _, role := range []string{"operator", "partner"} { // not an admin without the administration token, because some links would lead to the page that asks for the token
		tb := s.signInAs(t, desktop, role)
		tb.typeKeys("?")
		listed := evaluate[[]string](tb, `[...document.querySelectorAll("#keys dt")].map(e => e.innerText.trim().replace(/\s+/g, " "))`)
		if !evaluate[bool](tb, isHelpOpen) || !slices.Contains(listed, "?") {
			tb.fatal("? does not show the list of shortcuts")
		}
		tb.typeKeys(kb.Escape)
		if evaluate[bool](tb, isHelpOpen) {
			tb.fatal("Escape does not close the list")
		}
		tb.typeKeys("?")
		tb.do(click("#keys button"))
		if evaluate[bool](tb, isHelpOpen) {
			tb.fatal("the button does not close the list")
		}
		var links []struct{ Letter, Path string }
		decode(tb, `JSON.stringify([...document.querySelectorAll("nav a[data-letter]")].map(e => ({letter: e.dataset.letter, path: e.pathname})))`, &links)
		if len(links) < 5 {
			tb.fatal(fmt.Sprint("shortcuts: ", links))
		}
		for _, link := range links {
			if !slices.Contains(listed, "g "+link.Letter) {
				t.Errorf("%s: g %s is not in the list %q", role, link.Letter, listed)
			}
			tb.typeKeys("g")
			tb.follow(chromedp.KeyEvent(link.Letter))
			if path := evaluate[string](tb, "location.pathname"); path != link.Path {
				t.Errorf("%s: g %s leads to %s, want %s", role, link.Letter, path, link.Path)
			}
		}
		if hasSearch := tb.has("#q"); hasSearch != (role == "operator") || hasSearch != slices.Contains(listed, "/") {
			t.Errorf("%s: the search is there: %t, listed: %q", role, hasSearch, listed)
		}
		if tb.typeKeys("/"); role == "operator" && evaluate[string](tb, "document.activeElement.id") != "q" {
			t.Error("/ does not lead to the search")
		}
		tb.wantQuiet()
	}
}

// While a person types into a field, the shortcut keys only enter text. Outside fields, a letter that is not typed directly
// after g has no effect, and neither has a key pressed together with Control.
func TestShortcutsAreQuietWhileSomethingIsTyped(t *testing.T) {
	s := newSite(t)
	tb := s.signInAs(t, desktop, "partner")
	tb.visit(s.BaseURL + "/console/products/new")
	before := tb.events.current().number
	wantNothing := func(what string) {
		t.Helper()
		if evaluate[bool](tb, isHelpOpen) || tb.events.current().number != before {
			tb.fatal(what + ": a shortcut works")
		}
	}
	for _, field := range []string{"input[name=header]", "textarea[name=text]"} {
		if tb.do(chromedp.SendKeys(chromedp.CSS(field), "gh?g/")); evaluate[string](tb, fmt.Sprintf("document.querySelector(%q).value", field)) != "gh?g/" {
			tb.fatal(field + " has not what was typed")
		}
		wantNothing(field)
	}
	tb.do(chromedp.Focus(chromedp.CSS("select[name=env]")))
	tb.typeKeys("gh?")
	wantNothing("a list")
	evaluate[bool](tb, "(document.activeElement.blur(), true)")
	tb.typeKeys("gzh")
	wantNothing("g, another key and a letter")
	tb.do(chromedp.KeyEvent("?", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	wantNothing("Control")
	tb.typeKeys("?")
	if !evaluate[bool](tb, isHelpOpen) {
		tb.fatal("no shortcut works outside of a field either")
	}
	tb.wantQuiet()
}

// If a person presses the button of a form again before the response to the first press has arrived, the form is sent only once.
func TestFormOfTheConsoleIsSentOnce(t *testing.T) {
	s := newSite(t)
	tb := s.signInAs(t, desktop, "partner")
	tb.visit(s.BaseURL + "/console/products/new")
	tb.do(setValue("input[name=header]", "Mint tea"), setValue("[name=text]", "Fresh"), setValue("select[name=env]", "test"))
	form := tb.events.current().number
	// One script clicks twice, so the response to the first click can't arrive before the second.
	sent := evaluate[int](tb, `(() => {
		let sent = 0;
		const button = document.querySelector("`+postButton+`");
		addEventListener("submit", event => { if (!event.defaultPrevented) sent++; });
		button.click();
		button.click();
		return button.matches("[aria-disabled=true]") ? sent : -1;
	})()`)
	if sent != 1 {
		t.Errorf("the form was sent %d times; -1: its button does not show that it is on its way", sent)
	}
	tb.waitFor("the product", func(d document) bool { return d.number > form && d.isLoaded })
	tb.wantStatus(http.StatusOK)
	if products := s.send(t, s.Partner(), "GET", "/products?env=test", nil, http.StatusOK); products.at("data.0.header") != "Mint tea" || products.at("data.1.header") == "Mint tea" {
		t.Errorf("not one product: %v", products)
	}
	tb.back()
	if tb.has("button[aria-disabled]") {
		t.Error("the form cannot be sent again after going back")
	}
	tb.wantQuiet()
}
