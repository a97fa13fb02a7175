package api_test

import (
	"net/url"
	"testing"
	"time"

	"mizan/api/web/payerpage"
)

// A payer who has opened the page has the time that the page counts down, although the address that led to it is valid for
// 15 minutes.
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

// Between two attempts the payer waits no less than before the first.
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

// The payer's time ends on the page of the merchant, and the address ends soon after it.
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

// The address of a payer who has to act changes with the step, and every address that the payer was led to keeps working.
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

// opened returns the address at which a browser is that opens a page.
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
