package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"testing"
	"time"
)

// paymentToSign creates a payment whose payer must sign.
func (f *fixture) paymentToSign() *response {
	f.t.Helper()
	return f.create(`"type":"payment","amount":"1250","currency":"ETH","money_storage":{"type":"native_gas"}`).wantStatus("action_required", "")
}

// signatureOf returns the signature that the simulator expects: the lower-case hex SHA-256 of the text.
func signatureOf(payload string) string {
	digest := sha256.Sum256([]byte(payload))
	return hex.EncodeToString(digest[:])
}

// payloadPath is where the JSON of a transaction has the text that its payer must sign.
const payloadPath = "additional_params_for_auth.payload"

func TestPayloadIsShownAndSigned(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, c := range []struct {
		typedSignature        func(payload string) string
		status, reason, title string
	}{
		{signatureOf, "charged", "", "Paid"},
		{func(p string) string { return "  " + signatureOf(p) + "\n" }, "charged", "", "Paid"},
		{func(p string) string { return strings.ToUpper(signatureOf(p)) }, "rejected", "authentication_failed", "Not paid"},
	} {
		transaction := f.paymentToSign()
		payload := transaction.at(payloadPath)
		page := f.browse(transaction.at("simple_auth_redirect_url")).
			wantPage(200, "Sign the transfer", ">"+payload+"</bdi>", "<dt>Sequence number</dt><dd><bdi>1</bdi></dd>", ">1 minute left<", `content="61; url=/pay/`)
		action, _ := page.form()
		for _, wrong := range []url.Values{nil, {"signature": {" "}}, {"signature": {strings.Repeat("x", 8<<10+1)}}} {
			f.send(action, wrong).wantPage(422, "Sign the transfer", "Paste the signature.", payload)
		}
		f.transaction(transaction.at("id")).wantStatus("action_required", "")
		f.send(action, url.Values{"signature": {c.typedSignature(payload)}}).wantPage(200, c.title)
		f.transaction(transaction.at("id")).wantStatus(c.status, c.reason)
	}
}

func TestExpiredPayloadIsRenewedOnThePage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.paymentToSign()
	address, oldPayload := transaction.at("simple_auth_redirect_url"), transaction.at(payloadPath)
	action, _ := f.browse(address).form()
	f.advanceBy(59 * time.Second)
	f.browse(address).wantPage(200, "Sign the transfer", oldPayload, ">1 second left<", `content="2; url=/pay/`)
	f.advanceBy(2 * time.Second)
	// If a signature comes after its payload has expired, the response is the page with the current payload.
	page := f.send(action, url.Values{"signature": {signatureOf(oldPayload)}}).wantPage(200, "Sign the transfer", "<dd><bdi>2</bdi></dd>", ">1 minute left<")
	if strings.Contains(page.body, oldPayload) {
		t.Errorf("the page still shows %s: %s", oldPayload, page.body)
	}
	renewedTransaction := f.transaction(transaction.at("id")).wantStatus("action_required", "")
	if renewedTransaction.at("additional_params_for_auth.sequence") != "2" || !strings.Contains(page.body, renewedTransaction.at(payloadPath)) {
		t.Errorf("%s", renewedTransaction.body)
	}
	f.send(action, url.Values{"signature": {signatureOf(renewedTransaction.at(payloadPath))}}).wantPage(200, "Paid")
	f.transaction(transaction.at("id")).wantStatus("charged", "")
}

// The last payload expires at the payer's deadline, even if it is then less than a minute old.
func TestPayloadExpiresWithThePayersTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.paymentToSign()
	f.advanceBy(actionTTL - 30*time.Second)
	address := f.transaction(transaction.at("id")).at("simple_auth_redirect_url")
	f.browse(address).wantPage(200, "Sign the transfer", ">30 seconds left<", `content="31; url=/pay/`)
	f.advanceBy(30 * time.Second)
	f.browse(address).wantPage(200, "Not paid", "Time ran out before you confirmed.")
}
