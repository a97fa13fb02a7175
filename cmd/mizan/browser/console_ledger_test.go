package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"mizan/internal/testkit"
)

// ledgerPages are the console's pages about the ledger, each with the selector of an element that the page must have.
var ledgerPages = []struct{ path, element string }{
	{"trial-balance?env=test", "caption .good"},
	{"trial-balance?env=test&since=2026-01-01", "abbr"},
	{"accounts?env=test", "details[hx-get]"},
	{"accounts/A:bank?env=test", "tbody a"},
	{"accounts/L:partner:1:available?env=test&currency=USD&network=", "dl.rows"},
	{"entries?env=test", "tbody a"},
	{"events", "tbody a"},
	{"events/1", "main a[href*='proof?']"},
	{"periods", ".empty"},
	{"exports?format=csv", "[role=status] a"},
	{"proof", "#check-older:not([hidden])"},
	{"proof?seq=2", "#check:not([hidden])"},
}

// The console's pages about the ledger keep the rules of findings_test.go for each role that may see them, in both directions of
// writing, in light and in dark colors.
func TestEveryPageOfTheLedgerIsSound(t *testing.T) {
	s := newSite(t)
	payForLedger(t, s)
	for _, role := range []string{"auditor", "admin"} {
		for _, v := range consoleViews {
			name := fmt.Sprintf("%s-%s-dark-%t", role, v.lang, v.isDark)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				tb := s.signInAs(t, v, role)
				for i, p := range ledgerPages {
					tb.beginView(t, v, tb.payerIP)
					tb.visit(s.BaseURL + "/console/ledger/" + p.path)
					tb.wantStatus(200)
					if !tb.isThere(p.element) {
						t.Errorf("%s has no %s", p.path, p.element)
					}
					found, _, err := tb.findings()
					if err != nil {
						tb.fatal(err)
					}
					tb.keepScreenshot(fmt.Sprintf("%s-%02d", name, i))
					for _, f := range append(found, tb.widen(wideScreen)...) {
						t.Errorf("%s: %s: %s", p.path, f.rule, f.detail)
					}
				}
			})
		}
	}
}

// payForLedger makes three payments that are charged, and one that is declined.
func payForLedger(t *testing.T, s *site) {
	t.Helper()
	for range 3 {
		s.create(t, s.Partner(), "payment", `"amount":"1250","currency":"USD",`+apiCard("4242424242424242"))
	}
	s.create(t, s.Partner(), "payment", `"amount":"777","currency":"EUR",`+apiCard("4000000000000002"))
}

// The proof page checks in the browser that an entry is proven by the key that the auditor pasted. If anything on the page or in
// the proof is changed, the page refuses the proof and names the check that failed.
func TestAnAuditorProvesAnEntryInTheBrowser(t *testing.T) {
	s := newSite(t)
	payForLedger(t, s)
	key := strings.TrimSpace(testkit.MustRun(t, "audit", "key", "--data", s.Dir))
	tb := s.signInAs(t, desktop, "auditor")
	tb.visit(s.BaseURL + "/console/ledger/entries?env=test")
	tb.press("tbody th a")
	tb.press("main a[href*='proof?']")
	check := func(want string) {
		t.Helper()
		tb.do(click("#check:not([hidden])"))
		if !tb.isThere(want) {
			t.Errorf("no %s: %s", want, evaluate[string](tb, `document.querySelector("#result").innerText`))
		}
	}
	if !tb.isThere("#check:not([hidden])") {
		tb.fatal("the browser cannot check proofs")
	}
	check("#result [data-refused=key_form]")
	tb.fill("#key", key)
	check("#result .good")
	tb.keepScreenshot("proven")
	if proven, shown := evaluate[string](tb, `document.querySelector("[data-proven=booked_at]").innerText`), evaluate[string](tb, `document.querySelector("[data-shown=booked_at]").dataset.value`); proven == "" || proven != strings.Replace(shown, "+00:00", "Z", 1) {
		t.Errorf("the proven time is %q, and the shown one %q", proven, shown)
	}
	for _, c := range []struct{ what, change, want string }{
		{"an amount on the page", `document.querySelector("tr[data-posting]").dataset.amount = "1"`, "shown_differs"},
		{"a posting that the page leaves out", `document.querySelector("tr[data-posting]").remove()`, "shown_differs"},
		{"the event's bytes", flipSent("inclusion.leaf", 60), "proof_path"},
		{"a hash of the proof", flipSent("inclusion.proof", 5), "proof_path"},
		{"the stated root", flipSent("head.root", 5), "head_root"},
		{"the signed note", flipSent("head.signature", 40), "head_form"},
		{"the number of events", `document.querySelector('[data-sent="head.tree_size"]').textContent = "1"`, "head_size"},
	} {
		tb.reload()
		if !tb.isThere("#check:not([hidden])") {
			tb.fatal("the browser cannot check proofs")
		}
		tb.fill("#key", key)
		evaluate[any](tb, c.change+"; null")
		check("#result [data-refused=" + c.want + "]")
		tb.keepScreenshot("refused-" + c.want)
		if tb.has("#result .good") {
			t.Errorf("%s: called proven", c.what)
		}
	}
	tb.wantQuiet()
}

// In the tree of accounts, a group loads its next level when it is opened. The last level leads to an account's statement.
func TestTheTreeOfAccountsOpensLevelByLevel(t *testing.T) {
	s := newSite(t)
	payForLedger(t, s)
	tb := s.signInAs(t, desktop, "auditor")
	tb.visit(s.BaseURL + "/console/ledger/accounts?env=test&currency=USD&network=")
	level := ".tree > .level > li:nth-child(2)" // the liabilities, after the assets
	for range 3 {
		tb.do(click(level + " > details > summary"))
		level += " > details > .below > .level > li"
		if !tb.isThere(level) {
			tb.fatal("there is no " + level)
		}
	}
	tb.keepScreenshot("tree")
	tb.press(level + " > a.leaf")
	if d := tb.events.current(); !strings.Contains(d.url, "/accounts/L:partner:1:available") {
		tb.fatal("the leaf leads here")
	}
	tb.wantQuiet()
}

// While a part of a page is loaded, it is marked as busy. A part that cannot be loaded says so in its place. A person whose session
// has ended is led to the login.
func TestAPartOfAPageTellsWhyItIsMissing(t *testing.T) {
	s := newSite(t)
	payForLedger(t, s)
	tb := s.signInAs(t, desktop, "auditor")
	open := func() {
		tb.visit(s.BaseURL + "/console/ledger/accounts?env=test&currency=USD&network=")
		tb.do(click(".tree > .level > li:nth-child(2) > details > summary"))
	}
	call(tb, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*part=level*"}}})
	open()
	if !tb.isThere(".below[aria-busy=true]") {
		tb.fatal("the part that is loaded is not marked")
	}
	tb.keepScreenshot("part-busy")
	call(tb, fetch.Disable, cdp.Empty{})
	if !tb.isThere(".below:not([aria-busy]) > .level > li") {
		tb.fatal("the part is not loaded")
	}
	call(tb, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{{URLPattern: `*://*:*/*\?*part=level*`, Block: true}}})
	open()
	if !tb.isThere(".below > [role=alert] a") {
		tb.fatal("nothing says that the part could not be loaded")
	}
	tb.keepScreenshot("part-offline")
	call(tb, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: []*network.BlockPattern{}})
	tb.visit(s.BaseURL + "/console/ledger/accounts?env=test&currency=USD&network=")
	call(tb, network.ClearBrowserCookies, cdp.Empty{})
	tb.do(click(".tree > .level > li:nth-child(2) > details > summary"))
	tb.waitFor("the login", func(d document) bool { return strings.Contains(d.url, "/console/login?next=") })
}

// flipSent returns a JavaScript statement that changes one character of a value that the server has sent.
func flipSent(name string, at int) string {
	return fmt.Sprintf(`{const cell = document.querySelector('[data-sent=%q]'), text = cell.textContent;
		cell.textContent = text.slice(0, %[2]d) + (text[%[2]d] === "A" ? "B" : "A") + text.slice(%[2]d + 1)}`, name, at)
}

// The page shows that today's journal extends a head that the auditor kept, and refuses a head that was changed.
func TestAnAuditorComparesAnOlderHeadInTheBrowser(t *testing.T) {
	s := newSite(t)
	key := strings.TrimSpace(testkit.MustRun(t, "audit", "key", "--data", s.Dir))
	answer, err := s.Auditor().Get("/api/v1/ledger/head")
	testkit.WantStatus(t, answer, err, 200)
	var kept struct{ Data struct{ Signature string } }
	if err := answer.JSON(&kept); err != nil {
		t.Fatal(err)
	}
	payForLedger(t, s)
	tb := s.signInAs(t, desktop, "auditor")
	tb.visit(s.BaseURL + "/console/ledger/proof")
	if !tb.isThere("#check-older:not([hidden])") {
		tb.fatal("the browser cannot check proofs")
	}
	tb.fill("#key", key)
	tb.do(setValue("#older", kept.Data.Signature), click("#check-older"))
	if !tb.isThere("#older-result .good") {
		tb.fatal("the extension is not proven")
	}
	tb.do(setValue("#older", "AAAA"+kept.Data.Signature[4:]), click("#check-older"))
	if !tb.isThere("#older-result [data-refused=older_form]") {
		tb.fatal("a changed head is not refused")
	}
	tb.do(click("#remember"))
	tb.reload()
	if !tb.isThere("#check-older:not([hidden])") || evaluate[string](tb, `document.querySelector("#key").value`) != key {
		t.Error("the browser has not remembered the key")
	}
	tb.do(click("#remember"))
	tb.reload()
	if !tb.isThere("#check-older:not([hidden])") || evaluate[string](tb, `document.querySelector("#key").value`) != "" {
		t.Error("the browser remembers the key against the auditor's wish")
	}
}
