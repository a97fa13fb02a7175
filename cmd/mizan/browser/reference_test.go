package browser_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// referencePages are the pages of the API's reference, each with the selector of an element that the page must have.
var referencePages = []struct{ path, element string }{
	{"/", "a[href='/docs']"},
	{"/docs", "a[href='/docs/transactions#createTransaction']"},
	{"/docs/transactions", "#createTransaction"},
	{"/docs/leases", "#createLease"},
	{"/docs/webhooks", "section"},
	{"/docs/payers-pages", "#showPayerPage"},
	{"/docs/errors", "#Refusal"},
	{"/docs/search?q=refund", "a[href='/docs/transactions#changeTransaction']"},
}

// referenceWidths are the screen widths in which the pages of the API's reference are tried.
var referenceWidths = []int64{1440, 800, 320}

// The pages of the API's reference keep the rules of findings_test.go in light and in dark colors, on every screen, with all
// sections unfolded. Two rules do not apply: names of fields may be broken over lines, and a page may have many bytes.
func TestEveryPageOfTheReferenceIsSound(t *testing.T) {
	s := newSite(t)
	t.Run("pages", func(t *testing.T) {
		for _, p := range referencePages {
			t.Run(p.path, func(t *testing.T) {
				t.Parallel()
				tb := s.open(t, desktop)
				for i, width := range referenceWidths {
					for _, isDark := range []bool{false, true} {
						if testing.Short() && isDark != (i == 1) {
							continue
						}
						t.Run(fmt.Sprintf("%d-dark-%t", width, isDark), func(t *testing.T) {
							tb.beginView(t, view{width: width, lang: "en", scripts: true, isDark: isDark}, tb.payerIP)
							tb.visit(s.BaseURL + p.path)
							tb.wantStatus(200)
							if !tb.has(p.element) {
								tb.fatal("it has no " + p.element)
							}
							if shift := evaluate[float64](tb, layoutShift); shift > 0 {
								t.Errorf("the layout shifted by %g", shift)
							}
							evaluate[int](tb, `[...document.querySelectorAll("details")].map(d => d.open = true).length`)
							found, _, err := tb.findings()
							if err != nil {
								tb.fatal(err)
							}
							tb.report(slices.DeleteFunc(found,
								func(f finding) bool { return f.rule == ruleWords || f.rule == ruleBytes || f.rule == ruleShift }))
						})
					}
				}
			})
		}
	})
}

// The search in the API's reference needs no script: the form leads to a list of results, and a result leads to the operation.
func TestReferenceIsSearchedWithoutScripts(t *testing.T) {
	s := newSite(t)
	tb := s.open(t, view{width: 800, lang: "en"})
	tb.visit(s.BaseURL + "/docs")
	tb.fill("#q", "refund")
	tb.press("header button")
	if d := tb.events.current(); !strings.HasSuffix(d.url, "/docs/search?q=refund") {
		tb.fatal("the search leads here")
	}
	tb.press("main a[href='/docs/transactions#changeTransaction']")
	if !tb.has("#changeTransaction") {
		tb.fatal("there is no such operation")
	}
}
