package browser_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Bounds of what a page may take.
const (
	maxPageBytes = 60_000
	maxAttempts  = 4 // to check a page that may lead away by itself before the check is over
)

// The rules besides those of axe-core.
const (
	ruleWidth    = "width"    // nothing is wider than the screen
	ruleWords    = "words"    // no word, name or number is broken over two lines
	ruleConsole  = "console"  // no errors, exceptions or violations of the content security policy
	ruleHosts    = "hosts"    // no request to another host
	ruleBytes    = "bytes"    // at most maxPageBytes on the network
	ruleShift    = "shift"    // nothing moves while the page loads
	ruleLanguage = "language" // the language and its direction are declared
	ruleKeyboard = "keyboard" // every control can be reached, in the order of the page, and shows that it is focused
	ruleCode     = "code"     // a scanner can read the QR code
	ruleIcon     = "icon"     // the page has an icon; browsers ask for /favicon.ico at the first page without one
	ruleBack     = "back"     // after the form was sent, the back button does not show the card again
)

// finding is a fault of a page.
type finding struct {
	rule   string
	detail string
}

// report fails the test for each finding.
func (tb *tab) report(list []finding) {
	tb.t.Helper()
	for _, f := range list {
		tb.t.Errorf("%s: %s", f.rule, f.detail)
	}
}

// axe is axe-core 4.14.1, which finds faults of accessibility (WCAG). testdata/axe has its license.
//
//go:embed testdata/axe/axe.min.js
var axe string

// runAxe is an expression for the findings of axe-core, but for minor ones.
const runAxe = `axe.run(document, {resultTypes: ["violations"], preload: false}).then(result => result.violations
	.filter(v => v.impact !== "minor")
	.flatMap(v => v.nodes.map(n => ({rule: v.id, detail: v.help + ": " + n.target.join(" ") + " " + n.html.slice(0, 200) + " " + (n.any[0]?.message ?? "")}))))`

// layoutShift is an expression for how much the page moved while it loaded.
const layoutShift = `new Promise(resolve => {
	let total = 0;
	new PerformanceObserver(list => { for (const entry of list.getEntries()) total += entry.value; })
		.observe({type: "layout-shift", buffered: true});
	requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => resolve(total), 0)));
})`

// tooWide is an expression for the first elements beyond the edge of the screen. Sprintf inserts the screen's width.
const tooWide = `document.scrollingElement.scrollWidth <= %d ? [] : [...document.body.querySelectorAll("*")]
	.filter(e => { const r = e.getBoundingClientRect(); return r.right > %[1]d + 0.5 || r.left < -0.5; })
	.slice(0, 3).map(e => e.outerHTML.replace(/\s+/g, " ").slice(0, 120)).concat("scrollWidth " + document.scrollingElement.scrollWidth)`

// brokenWords is an expression for the words and numbers that go on in another line, but for codes to copy. A line may
// break at an ordinary space and after a hyphen.
const brokenWords = `[...document.querySelectorAll("main *:not(.code *, script)")].flatMap(e => [...e.childNodes])
	.filter(n => n.nodeType === Node.TEXT_NODE && n.parentElement.checkVisibility())
	.flatMap(n => [...n.data.matchAll(/[^ \n-]+/g)].filter(word => {
		const range = document.createRange();
		range.setStart(n, word.index);
		range.setEnd(n, word.index + word[0].length);
		const [first, ...others] = range.getClientRects();
		return others.some(r => r.top >= first.bottom - 2);
	}).map(word => word[0]))`

// measured is what the page itself tells.
type measured struct {
	Violations []struct{ Rule, Detail string }
	Shift      float64
	Wide       []string
	Broken     []string
	Lang       string
	Direction  string
	Heading    string
}

// measure reads everything from the page that the rules need. If the page leads away by itself meanwhile, the error
// says so.
func (tb *tab) measure() (m measured, err error) {
	tb.t.Helper()
	text, err := run[string](tb, axe+`;(async () => JSON.stringify({
		shift: await `+layoutShift+`, wide: `+fmt.Sprintf(tooWide, tb.view.width)+`, broken: `+brokenWords+`, violations: await `+runAxe+`,
		lang: document.documentElement.lang, direction: getComputedStyle(document.documentElement).direction,
		heading: document.querySelector("h1")?.textContent ?? ""}))()`)
	if err == nil {
		err = json.Unmarshal([]byte(text), &m)
	}
	return m, err
}

// findings checks the page that the tab shows against every rule.
func (tb *tab) findings() (list []finding, m measured, err error) {
	tb.t.Helper()
	tb.waitFor("the bytes of the page", func(d document) bool { return d.bytes > 0 })
	before := tb.events.current()
	if m, err = tb.measure(); err != nil {
		return nil, m, err
	}
	add := func(rule, format string, args ...any) {
		list = append(list, finding{rule, fmt.Sprintf(format, args...)})
	}
	for _, v := range m.Violations {
		add(v.Rule, "%s", v.Detail)
	}
	for _, element := range m.Wide {
		add(ruleWidth, "wider than %d: %s", tb.view.width, element)
	}
	for _, word := range m.Broken {
		add(ruleWords, "%q is broken over two lines", word)
	}
	if m.Shift > 0 {
		add(ruleShift, "the layout shifted by %g", m.Shift)
	}
	if before.bytes > maxPageBytes {
		add(ruleBytes, "%d bytes, at most %d", before.bytes, maxPageBytes)
	}
	lang := tb.view.lang
	if isAtTheBank(before) {
		lang = "en" // the simulated bank is for developers
	}
	if direction := directionOf(lang); m.Lang != lang || m.Direction != direction {
		add(ruleLanguage, "the page is in %q, written %s; want %q, written %s", m.Lang, m.Direction, lang, direction)
	}
	return append(list, tb.networkFindings()...), m, nil
}

// networkFindings returns the errors on the console and the requests to other hosts since the last call.
func (tb *tab) networkFindings() (list []finding) {
	problems, addresses := tb.events.take()
	for _, problem := range problems {
		rule := ruleConsole
		if strings.HasSuffix(problem, "/favicon.ico") {
			rule = ruleIcon
		}
		list = append(list, finding{rule, problem})
	}
	for _, address := range addresses {
		if !strings.HasPrefix(address, tb.site.BaseURL+"/") && !strings.HasPrefix(address, tb.site.merchant.server.URL+"/") && !strings.HasPrefix(address, "data:") {
			list = append(list, finding{ruleHosts, "a request to " + withoutQuery(address)})
		}
	}
	return list
}

func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that is none"
	}
	u.RawQuery = ""
	return u.String()
}

// directionOf returns the direction in which a language is written.
func directionOf(lang string) string {
	if slices.Contains([]string{"ar", "fa", "ur"}, lang) {
		return "rtl"
	}
	return "ltr"
}

// wantQuiet checks that there was no error on the console and no request to another host.
func (tb *tab) wantQuiet() {
	tb.t.Helper()
	tb.report(tb.networkFindings())
}
