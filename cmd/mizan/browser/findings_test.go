package browser_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Bounds for the checks of a page.
const (
	maxPageBytes    = 60_000
	maxConsoleBytes = 100_000 // for a page of the console that is loaded with an empty cache
	maxAttempts     = 4       // attempts to check a page that may leave for another page before the check is over
)

// The names of the rules, besides those of axe-core.
const (
	ruleWidth    = "width"    // nothing is wider than the screen
	ruleWords    = "words"    // no word, name or number is broken over two lines
	ruleConsole  = "console"  // no errors, exceptions or violations of the content security policy
	ruleHosts    = "hosts"    // no request to another host
	ruleBytes    = "bytes"    // at most maxPageBytes or maxConsoleBytes on the network
	ruleShift    = "shift"    // nothing moves while the page loads
	ruleLanguage = "language" // the language and its direction are declared
	ruleKeyboard = "keyboard" // Tab reaches every control, in the order of the page, and the focused control looks focused
	ruleCode     = "code"     // a scanner can read the QR code
	ruleIcon     = "icon"     // the page names an icon; otherwise the browser would request /favicon.ico
	rulePaper    = "paper"    // nothing is printed that is of no use on paper
	ruleBack     = "back"     // after the form was sent, the back button does not show the card again
)

// finding is a breach of a rule on a page.
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

// axe is the source of axe-core 4.14.1, a library that finds accessibility faults (WCAG). testdata/axe has its license.
//
//go:embed testdata/axe/axe.min.js
var axe string

// runAxe is a JavaScript expression that returns the faults found by axe-core, except minor ones.
const runAxe = `axe.run(document, {resultTypes: ["violations"], preload: false}).then(result => result.violations
	.filter(v => v.impact !== "minor")
	.flatMap(v => v.nodes.map(n => ({rule: v.id, detail: v.help + ": " + n.target.join(" ") + " " + n.html.slice(0, 200) + " " + (n.any[0]?.message ?? "")}))))`

// layoutShift is a JavaScript expression that returns how much the page moved while it loaded.
const layoutShift = `new Promise(resolve => {
	let total = 0;
	new PerformanceObserver(list => { for (const entry of list.getEntries()) total += entry.value; })
		.observe({type: "layout-shift", buffered: true});
	requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => resolve(total), 0)));
})`

// shiftedElements is a JavaScript expression that returns what has moved, and by how much, for the message of a failed test.
const shiftedElements = `new Promise(resolve => {
	const moved = [];
	const place = r => [r.x, r.y, r.width, r.height].join(",");
	new PerformanceObserver(list => { for (const entry of list.getEntries()) for (const s of entry.sources)
		moved.push(place(s.previousRect) + " -> " + place(s.currentRect) + ": " + (s.node?.outerHTML ?? s.node?.textContent ?? "").replace(/\s+/g, " ").slice(0, 120)); })
		.observe({type: "layout-shift", buffered: true});
	requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => resolve(moved.join("; ")), 0)));
})`

// tooWide is a JavaScript expression that returns the first elements that extend beyond the edge of the screen. Sprintf inserts
// the screen's width.
const tooWide = `document.scrollingElement.scrollWidth <= %d ? [] : [...document.body.querySelectorAll("*")]
	.filter(e => { const r = e.getBoundingClientRect(); return r.right > %[1]d + 0.5 || r.left < -0.5; })
	.slice(0, 3).map(e => e.outerHTML.replace(/\s+/g, " ").slice(0, 120)).concat("scrollWidth " + document.scrollingElement.scrollWidth)`

// brokenWords is a JavaScript expression that returns the words and numbers that are broken over two lines. A line may break at
// an ordinary space and after a hyphen. Codes that people copy are marked as such and may break anywhere.
const brokenWords = `[...document.querySelectorAll("main *:not(.code *, code.id, script)")].flatMap(e => [...e.childNodes])
	.filter(n => n.nodeType === Node.TEXT_NODE && n.parentElement.checkVisibility())
	.flatMap(n => [...n.data.matchAll(/[^ \n-]+/g)].filter(word => {
		const range = document.createRange();
		range.setStart(n, word.index);
		range.setEnd(n, word.index + word[0].length);
		const [first, ...others] = range.getClientRects();
		return others.some(r => r.top >= first.bottom - 2);
	}).map(word => word[0]))`

// measured is what scripts on the page have measured for the rules.
type measured struct {
	Violations []struct{ Rule, Detail string }
	Shift      float64
	Wide       []string
	Broken     []string
	Lang       string
	Direction  string
	Heading    string
}

// measure measures on the page everything that the rules need. It returns an error if the page leaves for another page
// meanwhile.
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

// findings checks the page that the tab shows against the rules and returns the breaches and the measurements. It returns an
// error if the page leaves for another page meanwhile.
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
	list = append(list, tb.widthFindings(m)...)
	if m.Shift > 0 {
		add(ruleShift, "the layout shifted by %g", m.Shift)
	}
	if most := maxBytes(tb, before); before.bytes > most {
		add(ruleBytes, "%d bytes, at most %d", before.bytes, most)
	}
	lang := tb.view.lang
	if isAtTheBank(before) {
		lang = "en" // the simulated bank, which is for developers, has no other language
	}
	if direction := directionOf(lang); m.Lang != lang || m.Direction != direction {
		add(ruleLanguage, "the page is in %q, written %s; want %q, written %s", m.Lang, m.Direction, lang, direction)
	}
	return append(list, tb.networkFindings()...), m, nil
}

// maxBytes returns how many bytes a page may take on the network.
func maxBytes(tb *tab, d document) int64 {
	if strings.HasPrefix(d.url, tb.site.BaseURL+"/console/") {
		return maxConsoleBytes
	}
	return maxPageBytes
}

// widthFindings returns the breaches of those rules that depend on the width of the screen.
func (tb *tab) widthFindings(m measured) (list []finding) {
	for _, element := range m.Wide {
		list = append(list, finding{ruleWidth, fmt.Sprintf("wider than %d: %s", tb.view.width, element)})
	}
	slices.Sort(m.Broken)
	for _, word := range slices.Compact(m.Broken) {
		list = append(list, finding{ruleWords, fmt.Sprintf("%q is broken over two lines at %d", word, tb.view.width)})
	}
	return list
}

// widen changes the screen's width without loading the page again. It returns the breaches of the rules that depend on the
// width.
func (tb *tab) widen(width int64) []finding {
	tb.t.Helper()
	tb.view.width = width
	tb.setScreen(heights[width])
	var m measured
	decode(tb, `JSON.stringify({wide: `+fmt.Sprintf(tooWide, width)+`, broken: `+brokenWords+`})`, &m)
	return tb.widthFindings(m)
}

// networkFindings returns the errors on the browser's console and the requests to other hosts since the last call.
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

// wantQuiet checks that there was no error on the browser's console and no request to another host.
func (tb *tab) wantQuiet() {
	tb.t.Helper()
	tb.report(tb.networkFindings())
}
