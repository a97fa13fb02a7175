package browser_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// view is how a payer looks at a page.
type view struct {
	width   int64 // width of the screen in pixels
	lang    string
	isDark  bool
	scripts bool // false: the browser runs no scripts of pages
}

// desktop is the view for tests in which the language does not matter.
var desktop = view{width: 1280, lang: "en", scripts: true}

// heights has the height of the screen or paper for each width, in pixels.
var heights = map[int64]int64{1440: 900, 1280: 800, 1200: 800, 800: 1280, 768: 1024, 375: 667, 360: 640, 320: 640, paperWidth: landscapeWidth, landscapeWidth: paperWidth}

// tab is a tab of the browser in which one payer acts.
type tab struct {
	t       testing.TB
	base    context.Context // lasts as long as the tab
	ctx     context.Context // ends at the time limit for what the payer does now
	site    *site
	view    view
	payerIP string // the payer's IP address
	events  *events
}

// open opens a tab for a new payer. The tab is closed at the end of the test.
func (s *site) open(t *testing.T, v view) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(s.browser, chromedp.WithNewBrowserContext())
	tb := s.prepare(t, ctx, cancel)
	tb.beginView(t, v, s.newPayerIP())
	return tb
}

// second opens another tab of the same payer.
func (tb *tab) second(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(tb.base)
	second := tb.site.prepare(t, ctx, cancel)
	second.beginView(t, tb.view, tb.payerIP)
	return second
}

func (s *site) prepare(t *testing.T, ctx context.Context, cancel context.CancelFunc) *tab {
	t.Helper()
	tb := &tab{base: ctx, site: s, events: newEvents()}
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx)
		cancel()
	})
	for _, err := range []error{chromedp.Do(ctx), chromedp.Listen(ctx, tb.events.record)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return tb
}

// beginView prepares the tab for a test, a view and a payer with this IP address. What the payer then does must be done within
// tabTimeout.
func (tb *tab) beginView(t *testing.T, v view, payerIP string) {
	t.Helper()
	tb.t, tb.view, tb.payerIP = t, v, payerIP
	ctx, cancel := context.WithTimeout(tb.base, tabTimeout)
	tb.ctx = ctx
	t.Cleanup(cancel)
	scheme := "light"
	if v.isDark {
		scheme = "dark"
	}
	tb.setScreen(heights[v.width])
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	call(tb, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	call(tb, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": v.lang, "X-Forwarded-For": payerIP}})
	call(tb, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !v.scripts})
}

// setScreen sets the screen to the view's width and this height.
func (tb *tab) setScreen(height int64) {
	tb.t.Helper()
	call(tb, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: tb.view.width, Height: height, DeviceScaleFactor: 1})
}

// call sends a command of the DevTools protocol and returns its result.
func call[P, R any](tb *tab, command cdp.Command[P, R], params P) R {
	tb.t.Helper()
	result, err := chromedp.Call(tb.ctx, command, params)
	if err != nil {
		tb.fatal(err)
	}
	return result
}

// evaluate returns the value of a JavaScript expression on the page. If the value is a promise, evaluate awaits it. It also
// works if the browser runs no scripts of pages.
func evaluate[T any](tb *tab, expression string) T {
	tb.t.Helper()
	value, err := run[T](tb, expression)
	if err != nil {
		tb.fatal(err)
	}
	return value
}

// run evaluates a JavaScript expression and returns its error. An expression can fail because the page leaves for another page.
func run[T any](tb *tab, expression string) (T, error) {
	return chromedp.Run(tb.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// fatal ends the test with a reason, and names the current page.
func (tb *tab) fatal(reason any) {
	tb.t.Helper()
	d := tb.events.current()
	tb.t.Fatalf("on %s (%d): %v", d.url, d.status, reason)
}

// do carries out actions that do not lead to another page.
func (tb *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, actions...); err != nil {
		tb.fatal(err)
	}
}

// follow carries out actions that lead to another page, and waits until that page has loaded.
func (tb *tab) follow(actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	earlier := tb.events.current().number
	tb.do(actions...)
	tb.waitFor("another page", func(d document) bool { return d.number > earlier && d.isLoaded })
}

// waitFor waits until holds returns true for the page that the tab shows. what describes this page in errors.
func (tb *tab) waitFor(what string, holds func(document) bool) {
	tb.t.Helper()
	if err := tb.events.wait(tb.ctx, holds); err != nil {
		tb.fatal(fmt.Sprintf("waiting for %s: %v", what, err))
	}
}

// visit opens a URL.
func (tb *tab) visit(address string) {
	tb.t.Helper()
	tb.follow(navigate(address))
}

func navigate(address string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.Navigate, page.NavigateParams{URL: address})
		return err
	})
}

// reload loads the page again.
func (tb *tab) reload() {
	tb.t.Helper()
	tb.follow(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.Reload, page.ReloadParams{})
		return err
	}))
}

// back goes back to the previous page in the history.
func (tb *tab) back() {
	tb.t.Helper()
	history := call(tb, page.GetNavigationHistory, cdp.Empty{})
	if history.CurrentIndex == 0 {
		tb.fatal("there is no page to go back to")
	}
	tb.follow(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: history.Entries[history.CurrentIndex-1].ID})
		return err
	}))
}

// has tells whether the page has an element.
func (tb *tab) has(selector string) bool {
	tb.t.Helper()
	return evaluate[bool](tb, fmt.Sprintf("document.querySelector(%q) !== null", selector))
}

// press clicks an element and waits for the next page.
func (tb *tab) press(selector string) {
	tb.t.Helper()
	tb.follow(click(selector))
}

func click(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.CSS(selector))
}

// fill clears a field and types a text into it.
func (tb *tab) fill(selector, text string) {
	tb.t.Helper()
	tb.do(chromedp.Clear(chromedp.CSS(selector)), chromedp.SendKeys(chromedp.CSS(selector), text))
}

// wantStatus checks the HTTP status of the page.
func (tb *tab) wantStatus(status int64) {
	tb.t.Helper()
	if d := tb.events.current(); d.status != status {
		tb.fatal(fmt.Sprintf("want status %d", status))
	}
}

// transactionID returns the transaction's id in the URL of the current page.
func (tb *tab) transactionID() string {
	tb.t.Helper()
	_, rest, found := strings.Cut(tb.events.current().url, "/pay/")
	if id, _, _ := strings.Cut(rest, "?"); found && len(id) == 36 {
		return id
	}
	tb.fatal("this is not the page of a transaction")
	return ""
}
