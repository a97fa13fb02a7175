package browser_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// flow is a case in which a payer goes through pages in a certain way.
type flow struct {
	name string
	walk func(tb *tab)
}

// Payers reach each outcome of a payment, with scripts and without.
func TestPayersReachTheEnd(t *testing.T) {
	s := newSite(t)
	flows := []flow{
		{"link with a fixed amount", payFixedLink},
		{"link whose amount the payer enters", payDynamicLink},
		{"product", payProduct},
		{"declined card", payWithADeclinedCard},
		{"failed payment", payAndFail},
		{"approved by the bank", approveAtTheBank},
		{"refused at the bank", refuseAtTheBank},
		{"form to the bank", approveAfterAForm},
		{"one-time password", payWithAPassword},
		{"wrong one-time password", payWithAWrongPassword},
		{"code to scan", payByScanning},
		{"refused after scanning", refuseAfterScanning},
		{"deposit of crypto", payADeposit},
		{"signature", paySigned},
		{"institution of a payout", receiveAtAnInstitution},
		{"card of a payout", receiveOnACard},
		{"refunded payment", seeARefund},
		{"cancelled payment", cancelThePayment},
		{"receipt", openTheReceipt},
	}
	for _, f := range flows {
		for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
			t.Run(f.name+" "+name, func(t *testing.T) {
				t.Parallel()
				v := desktop
				v.scripts = scripts
				tb := s.open(t, v)
				f.walk(tb)
				tb.wantQuiet()
			})
		}
	}
}

func payFixedLink(tb *tab) {
	_, address := tb.site.link(tb.t, `"name":"Green tea",`, `"default":1999,"currency":"USD"`, "fixed")
	tb.visit(address)
	tb.press(submitButton)
	tb.pay(cardCharged)
	tb.wantOutcome(tb.transactionID(), "charged")
	tb.waitFor("the merchant's page, to which the outcome leads", func(d document) bool { return strings.HasPrefix(d.url, tb.site.merchant.address("/ok")) && d.isLoaded })
}

func payDynamicLink(tb *tab) {
	link, address := tb.site.link(tb.t, "", `"default":1000,"min":500,"max":123456,"currency":"USD"`, "dynamic")
	tb.visit(address)
	tb.fill("input[name=amount]", "4.99")
	tb.press(submitButton)
	tb.wantStatus(http.StatusUnprocessableEntity)
	tb.fill("input[name=amount]", "1,234.50")
	tb.press(submitButton)
	tb.pay(cardCharged)
	tb.wantOutcome(tb.transactionID(), "charged")
	if amount := tb.site.send(tb.t, tb.site.Partner(), "GET", "/links/"+link, nil, http.StatusOK).at("data.payments.amount"); amount != "123450" {
		tb.fatal("the link has taken " + amount)
	}
}

func payProduct(tb *tab) {
	_, address := tb.site.product(tb.t, `"price":450,"currency":"EUR","qty":"3",`)
	tb.visit(address)
	tb.press(submitButton)
	tb.pay(cardInvalid)
	tb.wantStatus(http.StatusUnprocessableEntity)
	if tb.has(cardField+`[value]:not([value=""])`) || !tb.has("[aria-invalid=true]") {
		tb.fatal("a wrong number is shown again, or not marked")
	}
	tb.pay(cardCharged)
	tb.wantOutcome(tb.transactionID(), "charged")
}

func payWithADeclinedCard(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardDeclined)
	if !tb.has("[role=alert]") {
		tb.fatal("nothing tells that the card was declined")
	}
	tb.pay(cardOther)
	tb.wantOutcome(id, "charged")
}

func payAndFail(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardFailed)
	tb.wantOutcome(id, "failed")
	tb.waitFor("the merchant's page", func(d document) bool {
		return strings.HasPrefix(d.url, tb.site.merchant.address("/failed")) && d.isLoaded
	})
}

func approveAtTheBank(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardRedirect)
	tb.waitFor("the simulated bank", isAtTheBank)
	tb.press(approveButton)
	tb.wantMerchant("/ok", id, "charged")
}

func refuseAtTheBank(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardRedirect)
	tb.waitFor("the simulated bank", isAtTheBank)
	tb.press(refuseButton)
	tb.pay(cardOther)
	tb.wantOutcome(id, "charged")
}

func approveAfterAForm(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardForm)
	tb.waitFor("the simulated bank", isAtTheBank)
	tb.press(approveButton)
	tb.wantMerchant("/ok", id, "charged")
}

func isAtTheBank(d document) bool {
	return strings.Contains(d.url, "/simulator/challenge") && d.isLoaded
}

// wantMerchant waits until the payer is at the merchant, and checks the transaction's status.
func (tb *tab) wantMerchant(path, id, status string) {
	tb.t.Helper()
	tb.waitFor("the merchant's page", func(d document) bool { return strings.HasPrefix(d.url, tb.site.merchant.address(path)) && d.isLoaded })
	if got := tb.site.status(tb.t, id); got != status {
		tb.fatal("the transaction is " + got + ", want " + status)
	}
}

func payWithAPassword(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardPassword)
	tb.fill("input[name=otp]", "123456")
	tb.press(submitButton)
	tb.wantOutcome(id, "charged")
}

func payWithAWrongPassword(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardPassword)
	tb.fill("input[name=otp]", "654321")
	tb.press(submitButton)
	tb.pay(cardOther)
	tb.wantOutcome(id, "charged")
}

// scan creates a payment by QR code, opens the page with the code, and returns the transaction's id.
func (tb *tab) scan() (id string) {
	created := tb.site.create(tb.t, tb.site.Partner(), "payment", `"amount":"1250","currency":"RUB","money_storage":{"type":"sbp"}`)
	tb.visit(created.at("simple_auth_redirect_url"))
	if !tb.has("svg") {
		tb.fatal("there is no code")
	}
	return created.at("id")
}

func payByScanning(tb *tab) {
	id := tb.scan()
	tb.press(approveButton)
	tb.wantMerchant("/ok", id, "charged")
}

func refuseAfterScanning(tb *tab) {
	id := tb.scan()
	tb.press(refuseButton)
	tb.wantMerchant("/failed", id, "rejected")
}

func payADeposit(tb *tab) {
	created := tb.site.create(tb.t, tb.site.Partner(), "payment", `"amount":"1250","currency":"USDT","network":"tron","money_storage":{"type":"crypto"}`)
	tb.visit(created.at("simple_auth_redirect_url"))
	if !evaluate[bool](tb, `document.querySelector("main").textContent.includes("simulated-tron-")`) || !tb.has("svg") {
		tb.fatal("the address or its code is missing")
	}
	tb.press(approveButton)
	tb.wantMerchant("/ok", created.at("id"), "charged")
}

func paySigned(tb *tab) {
	created := tb.site.create(tb.t, tb.site.Partner(), "payment", `"amount":"1250","currency":"ETH","money_storage":{"type":"native_gas"}`)
	tb.visit(created.at("simple_auth_redirect_url"))
	payload := tb.site.send(tb.t, tb.site.Partner(), "GET", "/transactions/"+created.at("id"), nil, http.StatusOK).at("additional_params_for_auth.payload")
	signature := sha256.Sum256([]byte(payload))
	tb.fill("[name=signature]", hex.EncodeToString(signature[:]))
	tb.press(submitButton)
	tb.wantOutcome(created.at("id"), "charged")
}

func receiveAtAnInstitution(tb *tab) {
	created := tb.site.create(tb.t, tb.site.Partner(), "payout", `"amount":"1250","currency":"EUR","money_storage":{"type":"open_banking"}`)
	tb.visit(created.at("simple_auth_redirect_url"))
	tb.do(click(fmt.Sprintf("input[name=target_bank_id][value=%q]", created.at("availble_destinations.1.target_bank_id"))))
	tb.press(submitButton)
	tb.wantOutcome(created.at("id"), "charged")
}

func receiveOnACard(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payout", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardCharged)
	tb.wantOutcome(id, "charged")
}

func seeARefund(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardCharged)
	tb.wantOutcome(id, "charged")
	tb.site.send(tb.t, tb.site.Partner(), "PUT", "/transactions/"+id, `{"params":{"type":"refund"}}`, http.StatusOK)
	paid := evaluate[string](tb, `document.querySelector("h1").textContent`)
	tb.visit(address)
	tb.wantOutcome(id, "refunded")
	if evaluate[string](tb, `document.querySelector("h1").textContent`) == paid {
		tb.fatal("the page of a refunded payment looks like that of a charged one")
	}
}

func cancelThePayment(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.press(cancelButton)
	tb.wantOutcome(id, "failed")
}

func openTheReceipt(tb *tab) {
	id, address := tb.site.hosted(tb.t, "payment", `"amount":"1250","currency":"USD"`)
	tb.visit(address)
	tb.pay(cardCharged)
	tb.wantOutcome(id, "charged")
	tb.press(receiptLink)
	tb.wantStatus(http.StatusOK)
}
