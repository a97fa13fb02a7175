package browser_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A merchant's page may show the simulated bank in a frame, as is usual with 3-D Secure. It can't show a page in a frame on
// which a payer types a card.
func TestOnlyTheBanksPageIsShownInAFrame(t *testing.T) {
	s := newSite(t)
	framed := func(address string) string { return s.merchant.address("/frame?src=" + url.QueryEscape(address)) }
	t.Run("the simulated bank", func(t *testing.T) {
		created := s.create(t, s.Partner(), "payment", `"amount":"1250","currency":"USD",`+apiCard(cardRedirect))
		tb := s.open(t, desktop)
		tb.visit(framed(created.at("simple_auth_redirect_url")))
		tb.waitFor("the bank in the frame", func(d document) bool { return d.isLoaded && strings.Contains(d.frame.URL, "/simulator/challenge") })
		frames, err := chromedp.Run(tb.ctx, chromedp.Nodes(chromedp.CSS("iframe")))
		if err != nil || len(frames) != 1 {
			t.Fatalf("%d frames: %v", len(frames), err)
		}
		tb.do(chromedp.Click(chromedp.CSS(approveButton), chromedp.FromNode(frames[0])))
		tb.waitFor("the merchant in the frame", func(d document) bool { return strings.HasPrefix(d.frame.URL, s.merchant.address("/ok")) })
		if status := s.status(t, created.at("id")); status != "charged" {
			t.Errorf("the transaction is %s", status)
		}
		tb.wantQuiet()
	})
	_, checkout := s.hosted(t, "payment", `"amount":"1250","currency":"USD"`)
	_, link := s.link(t, "", `"default":1999,"currency":"USD"`, "fixed")
	for name, address := range map[string]string{"checkout": checkout, "link": link} {
		t.Run(name, func(t *testing.T) {
			tb := s.open(t, desktop)
			tb.visit(framed(address))
			tb.waitFor("a document in the frame", func(d document) bool { return d.isLoaded && d.frame.LoaderID != "" })
			if shown := tb.events.current().frame; !strings.HasPrefix(shown.URL, "chrome-error:") {
				t.Errorf("the frame shows %s", shown.URL)
			}
			problems, _ := tb.events.take()
			if len(problems) != 1 || !strings.Contains(problems[0], "frame-ancestors") {
				t.Errorf("the browser says %q", problems)
			}
		})
	}
}
