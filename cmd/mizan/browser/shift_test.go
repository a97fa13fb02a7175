package browser_test

import (
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
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
