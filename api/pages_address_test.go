package api_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"mizan/api/web/payerpage"
)

// A payer who has opened the page may use it until its countdown ends, although the first URL is valid for only 15 minutes.
func TestOpenedPageLastsAsLongAsThePayersTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	address := f.opened(transaction.at("widget_url"))
	action, _ := f.browse(address).wantPage(200, checkoutTitle, `data-left="1800"`).form()
	if shown, _ := f.ownPath(address); action != shown {
		t.Errorf("the form posts to %s, and the page is at %s", action, shown)
	}
	f.advanceBy(905 * time.Second)
	f.browse(transaction.at("widget_url")).wantPage(410, "This link is no longer valid")
	f.browse(address).wantPage(200, checkoutTitle, `data-left="895"`)
	f.send(action, card("4242424242424242")).wantPage(200, "Paid")
	f.browse(address).wantPage(200, "Paid")
}

func TestPageOfALinkLastsAsLongAsThePayersTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link := f.testLink("", `"default":1250`, "fixed")
	begun := f.visit("POST", "/pay/l/"+link.at("data.id"), nil)
	address := begun.header.Get("location")
	if opened := f.opened(address); opened != address {
		t.Errorf("the payer is sent from %s to %s", address, opened)
	}
	f.advanceBy(905 * time.Second)
	f.send(address, card("4242424242424242")).wantPage(200, "Paid")
}

// The page's URL stays valid after a decline, so that the payer can make the next attempt before the payer's time is over.
func TestDeclinedPayerKeepsTheAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted("")
	address := f.opened(transaction.at("widget_url"))
	f.advanceBy(890 * time.Second)
	f.send(address, card(declinedCard)).wantPage(200, checkoutTitle, "The card was declined.", `data-left="910"`)
	f.advanceBy(20 * time.Second)
	f.fill(f.browse(address).wantPage(200, checkoutTitle, "The card was declined."), card("4242424242424242")).wantPage(200, "Paid")
}

// When the payer's time is over, the page says so and links back to the merchant. The page's URL expires 15 minutes later.
func TestOpenedPageShowsThatTheTimeIsOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.createHosted(`,"failUrl":"` + failURL + `"`)
	address := f.opened(transaction.at("widget_url"))
	f.advanceBy(actionTTL)
	f.browse(address).wantPage(200, "Not paid", "Time ran out before you confirmed.", "Demo merchant", `href="`+failURL+`"`)
	f.send(address, card("4242424242424242")).wantPage(200, "Not paid", "Time ran out before you confirmed.")
	f.transaction(transaction.at("id")).wantStatus("rejected", "payer action expired")
	f.advanceBy(payerpage.Lifetime - time.Microsecond)
	f.browse(address).wantPage(200, "Not paid")
	f.advanceBy(time.Microsecond)
	for _, method := range []string{"GET", "POST"} {
		f.visit(method, address, card("4242424242424242")).wantPage(410, "Time has run out", "Demo merchant", `href="`+failURL+`"`)
	}
}

// The URL of the page changes when the payer takes a step, such as sending a card. Every earlier URL still leads to the present
// page.
func TestReloadAndBackStayOnThePage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setHostedAttempts("2")
	transaction := f.createHosted("")
	first := f.opened(transaction.at("widget_url"))
	f.advanceBy(20 * time.Minute)
	asked := f.send(first, card("4000002500003155")).wantPage(200, "Confirm with a password")
	confirmation, _ := asked.form()
	if confirmation == first {
		t.Error("the address ends before the time for the password does")
	}
	for _, address := range []string{first, confirmation} {
		f.browse(address).wantPage(200, "Confirm with a password")
	}
	f.advanceBy(5 * time.Minute)
	f.fill(asked, url.Values{"otp": {"654321"}}).wantPage(200, checkoutTitle, "The payment was not confirmed.", `data-left="300"`)
	for _, address := range []string{first, confirmation} {
		f.browse(address).wantPage(200, checkoutTitle)
	}
}

// opened opens a URL, follows redirects, and returns the last URL.
func (f *fixture) opened(address string) string {
	f.t.Helper()
	for range 8 {
		r := f.visit("GET", address, nil)
		if r.status != 303 {
			return address
		}
		address = r.header.Get("location")
	}
	f.t.Fatal("redirected for ever")
	return ""
}

// A payer may spend more time at the provider than the URL is valid from which the payer went there. So before leaving, the payer
// gets a URL that is valid for as long as the payer may act. Until then the earlier URL redirects to it, so that a payer who goes
// back is never asked to begin a new payment.
func TestEarlierAddressLeadsOnWhileThePayerIsAtTheProvider(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, number := range []string{challengedCard, "4000000000003063", "4000002500003155"} {
		transaction := f.createHosted("")
		first := f.opened(transaction.at("widget_url"))
		f.advanceBy(29 * time.Minute)
		posted := f.visit("POST", first, card(number)).header.Get("location")
		if strings.TrimSuffix(posted, "&posted") == first {
			t.Errorf("%s: the payer keeps the address that ends before the payer's time does", number)
		}
		atProvider := f.follow(f.visit("GET", posted, nil))
		f.advanceBy(17 * time.Minute) // one minute after the first URL has expired
		if lasting := f.opened(first); lasting != strings.TrimSuffix(posted, "&posted") {
			t.Errorf("%s: the first address leads to %q", number, lasting)
		}
		back := f.browse(first)
		back.wantNoText("start again", "no longer valid")
		if back.status != 200 || !strings.Contains(back.body, `name="cancel"`) {
			t.Errorf("%s: %d %s", number, back.status, back.body)
		}
		f.visit("POST", first, url.Values{"cancel": {"1"}}).wantRedirect(strings.TrimSuffix(posted, "&posted")) // a form that is sent to an expired URL changes nothing
		f.transaction(transaction.at("id")).wantStatus("action_required", "")
		if number == "4000002500003155" {
			f.fill(back, url.Values{"otp": {"123456"}}).wantPage(200, "Paid")
		} else {
			f.follow(f.answerChallenge(atProvider, "approve")).wantPage(200, "Paid")
		}
		f.browse(first).wantPage(410, "Paid")
	}
}

// A page's URL in a response of the API expires after 15 minutes. The payer may then have confirmed the payment elsewhere. So the
// page at the expired URL does not ask for another payment, and does not lead to the payment link, where another payment would
// begin.
func TestExpiredAddressOfAnOpenPaymentDoesNotAskForAnotherOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	address := f.charge(challengedCard).wantStatus("action_required", "").at("simple_auth_redirect_url")
	challenge := f.browse(address)
	f.advanceBy(16 * time.Minute)
	f.browse(address).wantPage(410, "This link is no longer valid", "Ask the merchant before you pay again.").wantNoText("start again", failURL)
	f.follow(f.answerChallenge(challenge, "approve"))
	f.browse(address).wantPage(410, "Paid")

	link := f.testLink("", `"default":1250`, "fixed").at("data.url")
	pay, _ := f.send(link, url.Values{}).wantPage(200, checkoutTitle).form()
	f.send(pay, card(challengedCard)).wantPage(200, "Simulated bank")
	begun := f.partner().get(transactions + "?env=test").at("data.0.id")
	address = f.transaction(begun).at("simple_auth_redirect_url")
	f.advanceBy(16 * time.Minute)
	f.browse(address).wantPage(410, "This link is no longer valid").wantNoText("start again", link)
}
