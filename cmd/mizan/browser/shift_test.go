package browser_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
)

// firstPaint is a JavaScript promise that resolves when the browser has painted the page for the first time.
const firstPaint = `new Promise(resolve => new PerformanceObserver(list => { if (list.getEntriesByName("first-contentful-paint").length) resolve(true); })
	.observe({type: "paint", buffered: true}))`

// On a slow network the pictures arrive after the text. The text must not move when they arrive.
func TestPicturesDoNotMoveThePage(t *testing.T) {
	s := newSite(t)
	for _, p := range []shownPage{{name: "link", show: showLink}, {name: "product", show: showProduct}, {name: "checkout", show: showCheckout}} {
		t.Run(p.name, func(t *testing.T) {
			first := s.open(t, desktop)
			p.show(first)
			tb := s.open(t, desktop) // for another payer, whose browser has not cached the pictures
			call(tb, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/images/*"}}})
			tb.do(navigate(first.events.current().url))
			tb.waitFor("a request for a picture", func(d document) bool { return d.held > 0 })
			evaluate[bool](tb, firstPaint)
			call(tb, fetch.Disable, cdp.Empty{})
			tb.waitFor("the pictures", func(d document) bool { return d.isLoaded })
			if shift := evaluate[float64](tb, layoutShift); shift > 0 {
				tb.report([]finding{{ruleShift, "the layout shifted when the pictures came"}})
			}
		})
	}
}

// lateModule is the beginning of a module that runs after the browser has painted the page.
const lateModule = `<script type="module">await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 0))));`

// scriptHasRun is a JavaScript promise that resolves when the script of the page has run.
const scriptHasRun = `new Promise(resolve => {
	const check = () => document.documentElement.classList.contains("scripted") ? resolve(true) : requestAnimationFrame(check);
	check();
})`

// On a slow device the script runs after the page was painted. What the script shows then must not move the page.
func TestScriptsDoNotMoveThePage(t *testing.T) {
	s := newSite(t)
	s.prepareFee(t)
	s.prepareMethods(t)
	s.prepareExpired(t)
	t.Run("pages", func(t *testing.T) {
		for _, p := range shownPages {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				tb := s.open(t, desktop)
				for _, v := range []view{{width: 1280, lang: "ru", scripts: true}, {width: 320, lang: "ar", scripts: true}} {
					tb.beginView(t, v, s.newPayerIP())
					p.show(tb)
					tb.visitWithLateScript(tb.events.current().url)
					if shift := evaluate[float64](tb, layoutShift); shift > 0 {
						tb.report([]finding{{ruleShift, fmt.Sprintf("the layout of %s shifted by %g when the script ran: %s", p.screenshotName(v), shift, evaluate[string](tb, shiftedElements))}})
					}
				}
			})
		}
	})
}

// visitWithLateScript opens a page whose script runs only after the page was painted.
func (tb *tab) visitWithLateScript(url string) {
	tb.t.Helper()
	call(tb, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true}) // the policy allows the script as it was
	call(tb, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{ResourceType: network.ResourceTypeDocument, RequestStage: fetch.RequestStageResponse}}})
	before := tb.events.current()
	evaluate[string](tb, fmt.Sprintf("location.href = %q", url))
	tb.waitFor("the response", func(d document) bool { return d.held > before.held })
	request := tb.events.current().paused
	response := call(tb, fetch.GetResponseBody, fetch.GetResponseBodyParams{RequestID: request.RequestID})
	changed := bytes.Replace(response.Body, []byte(`<script type="module">`), []byte(lateModule), 1)
	if bytes.Equal(changed, response.Body) {
		tb.fatal("the page has no script")
	}
	call(tb, fetch.FulfillRequest, fetch.FulfillRequestParams{RequestID: request.RequestID, ResponseCode: request.ResponseStatusCode, ResponseHeaders: request.ResponseHeaders, Body: changed})
	call(tb, fetch.Disable, cdp.Empty{})
	tb.waitFor("the page", func(d document) bool { return d.number > before.number && d.isLoaded })
	evaluate[bool](tb, scriptHasRun)
	call(tb, page.SetBypassCSP, page.SetBypassCSPParams{})
}
