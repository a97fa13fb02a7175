package browser_test

import (
	"context"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"mizan/internal/testkit"
)

// browserVariable is the environment variable with the path of the browser; `make browser` sets it.
const browserVariable = "MIZAN_TEST_BROWSER"

var update = flag.Bool("update", false, "rewrite the screenshots and docs/gallery.md")

func TestMain(m *testing.M) { testkit.Main(m) }

// trustedProxies contains the browser: the server believes the X-Forwarded-For with which each payer names an address.
const trustedProxies = "127.0.0.1/32"

// startBrowser starts the browser, which is closed at the end of the test. It skips the test if there is no browser.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := os.Getenv(browserVariable)
	if path == "" {
		t.Skip("not tried: " + browserVariable + " names no browser (see make browser)")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.DisableGPU,
		chromedp.NoSandbox,        // the browser opens only pages of these tests, and root can't have its sandbox
		chromedp.IgnoreCertErrors, // the server's own authority is not installed
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("disable-site-isolation-trials", true), // frames of other sites are parts of the tab
	)
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	browser, cancelBrowser := chromedp.NewContext(allocator, chromedp.WithErrorf(t.Logf))
	t.Cleanup(func() {
		_ = chromedp.Cancel(browser)
		cancelBrowser()
		cancelAllocator()
	})
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	return browser
}

// tabTimeout bounds how long a test may use one tab.
const tabTimeout = 90 * time.Second
