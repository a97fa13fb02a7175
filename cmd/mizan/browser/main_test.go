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

// browserVariable is the environment variable with the path of the browser's program. `make browser` sets it.
const browserVariable = "MIZAN_TEST_BROWSER"

var update = flag.Bool("update", false, "rewrite the screenshots and docs/gallery.md")

func TestMain(m *testing.M) { testkit.Main(m) }

// trustedProxies contains the browser's address. So the server believes the X-Forwarded-For header that the browser sends, which
// gives each payer an IP address of its own.
const trustedProxies = "127.0.0.1/32"

// startBrowser starts the browser and ends it at the end of the test. It skips the test if browserVariable names no browser.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := os.Getenv(browserVariable)
	if path == "" {
		t.Skip("not tried: " + browserVariable + " names no browser (see make browser)")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.DisableGPU,
		chromedp.NoSandbox,        // Chromium's sandbox does not work for root, and is not needed for the pages of these tests
		chromedp.IgnoreCertErrors, // the certificate authority of the tested server is not installed
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("disable-site-isolation-trials", true), // so that frames of other sites belong to the tab and tests can reach them
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

// tabTimeout bounds how long a test may use a tab for one view.
const tabTimeout = 90 * time.Second
