package browser_test

import (
	"strings"
	"testing"
	"time"
)

// The pages react to what happens while the payer waits or hesitates. All cases move the same clock, so they run one after the
// other.
func TestPagesFollowTheClock(t *testing.T) {
	s := newSite(t)
	for _, c := range []flow{
		{"a pending charge ends", waitForACharge},
		{"the link expires while the payer reads the page", hesitate},
		{"the payer's time ends while a password is asked for", confirmTooLate},
		{"the payer's time ends at the bank", approveTooLate},
	} {
		t.Run(c.name, func(t *testing.T) {
			tb := s.open(t, desktop)
			c.walk(tb)
			tb.wantQuiet()
		})
	}
}

// waitForACharge tests the page of a pending charge. The page reloads by itself and leads to the merchant when the charge has
// ended.
func waitForACharge(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardSlow)
	tb.wantOutcome(id, "charging")
	pending := evaluate[string](tb, `document.querySelector("h1").textContent`)
	tb.site.advance(tb.t.(*testing.T), 5*time.Second)
	tb.waitFor("the merchant's page, to which only the outcome leads", func(d document) bool { return strings.HasPrefix(d.url, tb.site.merchant.address("/ok")) && d.isLoaded })
	tb.visit(address)
	tb.wantOutcome(id, "charged")
	if evaluate[string](tb, `document.querySelector("h1").textContent`) == pending {
		tb.fatal("the page of a charged payment looks like that of a pending one")
	}
}

func hesitate(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.site.advance(tb.t.(*testing.T), 16*time.Minute)
	tb.reload()
	tb.pay(cardCharged)
	tb.wantOutcome(id, "charged")
}

func confirmTooLate(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardPassword)
	tb.fill("input[name=otp]", "123456")
	tb.site.advance(tb.t.(*testing.T), 31*time.Minute)
	tb.press(submitButton)
	if got := tb.site.status(tb.t, id); got == "charged" {
		tb.fatal("a password was accepted too late")
	}
	if tb.has("input[name=otp]") {
		tb.fatal("the page still asks for the password")
	}
}

func approveTooLate(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardRedirect)
	tb.waitFor("the simulated bank", isAtTheBank)
	tb.site.advance(tb.t.(*testing.T), 31*time.Minute)
	tb.press(approveButton)
	tb.wantMerchant("/failed", id, "rejected")
}
