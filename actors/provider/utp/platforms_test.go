package utp_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/testkit"
)

// The sandbox's cards.
const (
	good          = "4242424242424242"
	declined      = "4000000000000002"
	processing    = "4000000000000119"
	redirected    = "4000000000003220"
	password      = "4000002500003155"
	delayed       = "4000000000000077"
	silent        = "4000000000000341"
	chargedBack   = "4000000000000259"
	refundRefused = "4000000000005126"
	refundSlow    = "4000000000007726"
)

// In TestAnotherPlatformIsAProvider the service is a merchant of another platform, which carries out everything
// that our own merchant requests. The books of the two platforms agree.
func TestAnotherPlatformIsAProvider(t *testing.T) {
	platforms := startBoth(t)
	s := platforms.side(false, false, false)
	t.Run("payments and payouts", s.paymentsAndPayouts)
	t.Run("refunds", s.refunds)
	t.Run("the payer acts", s.payerActs)
	t.Run("what takes time", s.delays)
	t.Run("what is taken back", s.reversals)
	t.Run("notifications", s.notifications)
	s.t = t
	s.settleAll()
	s.wantAgreement()
	platforms.verify()
}

// useTest makes failures appear under the name of a subtest.
func (s *side) useTest(t *testing.T) { s.t = t; s.platforms.t = t }

func (s *side) paymentsAndPayouts(t *testing.T) {
	s.useTest(t)
	paid := s.create("payment", good, "1000").has("status", "charged", "route", "utp", "amount", "1000")
	theirTransaction := s.theirTransaction(paid.text("id")).has("status", "charged", "amount", "1000", "type", "payment")
	paid.has("rrn", theirTransaction.text("rrn"), "merchant_meta.utp_id", theirTransaction.text("id"))
	s.create("payment", declined, "1001").has("status", "rejected", "error_code", "card_declined")
	s.create("payment", processing, "1002").has("status", "failed", "error_code", "processing_error")
	s.create("payout", good, "300").has("status", "charged")
	s.create("payout", declined, "301").has("status", "rejected", "error_code", "card_declined")
	s.want(201)(s.ourClient().Post(transactions, map[string]any{"params": map[string]any{
		"type": "payment", "amount": "999999999999999999", "currency": "USDT", "network": "tron", "returnUrl": shop, "failUrl": shop,
		"money_storage": map[string]string{"type": "gift_card"},
	}})).has("status", "charged", "network", "tron", "amount", "999999999999999999")
}

func (s *side) refunds(t *testing.T) {
	s.useTest(t)
	fullyRefunded := s.create("payment", good, "2000").text("id")
	s.change(fullyRefunded, "refund", "").has("status", "refunded", "refund_msg", "The money was returned.", "refunded_amount", "2000")
	s.theirTransaction(fullyRefunded).has("status", "refunded", "refunded_amount", "2000")

	parts := s.create("payment", good, "2001").text("id")
	s.change(parts, "refund", "700").has("status", "refunded", "refunded_amount", "700")
	s.change(parts, "refund", "1").has("status", "refunded", "refunded_amount", "701")
	s.theirTransaction(parts).has("refunded_amount", "701")
	s.change(parts, "refund", "").has("refunded_amount", "2001")
	s.theirTransaction(parts).has("refunded_amount", "2001")

	refused := s.create("payment", refundRefused, "2002").text("id")
	s.change(refused, "refund", "2").has("status", "charged", "refund_msg", "The provider refused the refund.", "refunded_amount", "0")

	slow := s.create("payment", refundSlow, "2003").text("id")
	s.change(slow, "refund", "3").has("status", "refunding")
	s.advance(20)
	s.read(slow).has("status", "refunded", "refunded_amount", "3")
}

func (s *side) payerActs(t *testing.T) {
	s.useTest(t)
	for button, want := range map[string]string{"approve": "charged", "refuse": "rejected"} {
		created := s.create("payment", redirected, "3000").has("status", "action_required", "auth_params.type", "redirect")
		theirTransaction := s.theirTransaction(created.text("id")).has("auth_params.url", created.text("auth_params.url"))
		s.leadsToTheirs(created, theirTransaction.text("id"))
		if button == "approve" {
			s.advance(16 * 60) // both pages' addresses have expired; reading the transaction gives new ones
			s.leadsToTheirs(s.read(created.text("id")), theirTransaction.text("id"))
			s.advance(5 * 60)
			s.leadsToTheirs(s.read(created.text("id")), theirTransaction.text("id"))
		}
		landedAt := s.browse(created.text("auth_params.url"), url.Values{button: {"1"}})
		s.read(created.text("id")).has("status", want)
		if back := map[string]string{"approve": shop + "/ok", "refuse": shop + "/no"}[button]; landedAt != back {
			t.Errorf("a payer who clicks %s is sent to %s, want %s", button, landedAt, back)
		}
	}
	for otp, want := range map[string]string{"123456": "charged", "000000": "rejected"} {
		id := s.create("payment", password, "3001").has("status", "action_required", "additional_params_for_auth.type", "otp").text("id")
		s.want(422)(s.ourClient().Post(transactions+"/additional_params_for_auth/"+id, `{"additional_params_for_auth":{"otp":""}}`))
		s.read(id).has("status", "action_required")
		s.theirTransaction(id).has("status", "action_required")
		s.want(200)(s.ourClient().Post(transactions+"/additional_params_for_auth/"+id, map[string]any{
			"additional_params_for_auth": map[string]string{"otp": otp},
		})).has("status", want)
	}
	created := s.want(201)(s.ourClient().Post(transactions, map[string]any{"params": map[string]any{
		"type": "payout", "amount": "3002", "currency": "EUR", "money_storage": map[string]string{"type": "sepa"},
	}})).has("status", "action_required")
	offered, _ := created.at("availble_destinations").([]any)
	if len(offered) == 0 {
		t.Fatal("no destinations are offered")
	}
	bank := object{t, offered[1]}.text("target_bank_id")
	s.want(200)(s.ourClient().Post(transactions+"/choose_target_destination/"+created.text("id"), map[string]string{"target_bank_id": bank})).has("status", "charged")

	s.payerSigns(t)
	cancelled := s.create("payment", redirected, "3003").text("id")
	s.change(cancelled, "cancel", "").has("status", "failed")
	s.theirTransaction(cancelled).has("status", "failed")
}

// leadsToTheirs checks that our payer page sends the payer to the other platform's page, and that this page is
// still valid.
func (s *side) leadsToTheirs(ourTransaction object, id string) {
	s.t.Helper()
	browser := s.browser()
	page := s.redirectTarget(browser.Get(ourTransaction.text("simple_auth_redirect_url")))
	if !strings.HasPrefix(page, s.theirs.BaseURL+"/pay/"+id+"?token=") {
		s.t.Errorf("our page sends the payer to %s, want theirs", page)
	}
	answer, err := browser.Get(page)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != 200 && answer.StatusCode != 303 {
		s.t.Errorf("their page answers %d", answer.StatusCode)
	}
}

// payerSigns tests a payment that the payer signs: the other platform determines the payload to be signed, and its
// expiry.
func (s *side) payerSigns(t *testing.T) {
	created := s.want(201)(s.ourClient().Post(transactions, map[string]any{"params": map[string]any{
		"type": "payment", "amount": "3004", "currency": "USD", "returnUrl": shop, "failUrl": shop, "money_storage": map[string]string{"type": "native_gas"},
	}})).has("status", "action_required")
	const payloadPath, expiryPath = "additional_params_for_auth.payload", "additional_params_for_auth.expires_at"
	id := created.text("id")
	s.theirTransaction(id).has(payloadPath, created.text(payloadPath), expiryPath, created.text(expiryPath))
	submit := func(status int, signature string) object {
		return s.want(status)(s.ourClient().Post(transactions+"/additional_params_for_auth/"+id, map[string]any{
			"additional_params_for_auth": map[string]string{"signature": signature},
		}))
	}
	submit(422, "")
	s.advance(61)
	submit(422, signatureOf(created.text(payloadPath))).has("error", "expired")
	fresh := s.read(id).has("status", "action_required")
	if fresh.text(payloadPath) == created.text(payloadPath) || fresh.text(expiryPath) == created.text(expiryPath) {
		t.Errorf("after expires_at ours is %s until %s", fresh.text(payloadPath), fresh.text(expiryPath))
	}
	s.theirTransaction(id).has(payloadPath, fresh.text(payloadPath), expiryPath, fresh.text(expiryPath))
	submit(200, signatureOf(fresh.text(payloadPath))).has("status", "charged")
	s.theirTransaction(id).has("status", "charged")
}

// signatureOf returns the lower-case hex SHA-256 of a text.
func signatureOf(payload string) string {
	digest := sha256.Sum256([]byte(payload))
	return hex.EncodeToString(digest[:])
}

func (s *side) delays(t *testing.T) {
	s.useTest(t)
	lateID := s.create("payment", delayed, "4000").has("status", "charging").text("id")
	unknown := s.create("payment", silent, "4001").has("status", "charging").text("id")
	paidOut := s.create("payout", delayed, "4002").has("status", "charging").text("id")
	s.advance(30)
	for _, id := range []string{lateID, unknown, paidOut} {
		s.read(id).has("status", "charged")
	}
	cancelled := s.create("payment", delayed, "4003").text("id")
	s.change(cancelled, "cancel", "").has("status", "failed", "error_code", "cancelled")
}

func (s *side) reversals(t *testing.T) {
	s.useTest(t)
	id := s.create("payment", chargedBack, "5000").has("status", "charged").text("id")
	s.advanceOne(s.theirs, 60)
	s.theirTransaction(id).has("status", "reversed")
	s.read(id).has("status", "charged")
	s.advance(300)
	s.read(id).has("status", "reversed")
}

// A notification makes us inquire at once; without it our clock decides when.
func (s *side) notifications(t *testing.T) {
	s.useTest(t)
	lateID := s.create("payment", delayed, "6000").has("status", "charging").text("id")
	chargedBackID := s.create("payment", chargedBack, "6001").has("status", "charged").text("id")
	s.advanceOne(s.theirs, 60)
	s.read(lateID).has("status", "charging")
	s.read(chargedBackID).has("status", "charged")
	wrong := s.notify(lateID, "charged", "another secret")
	if wrong.Status != 401 {
		t.Errorf("a notification that is not signed by them answers %d %s", wrong.Status, wrong.Body)
	}
	for id, status := range map[string]string{lateID: "charged", chargedBackID: "reversed"} {
		if a := s.notify(id, status, hookSecret); a.Status != 200 {
			t.Fatalf("a notification answers %d %s", a.Status, a.Body)
		}
		s.advanceOne(s.ours, 0) // when it returns, nothing is in progress
		s.read(id).has("status", status)
	}
}

// notify sends the notification that the other platform sends when a transaction reaches a status.
func (s *side) notify(id, status, secret string) *testkit.Answer {
	s.t.Helper()
	now, err := time.Parse(time.RFC3339Nano, s.want(200)(s.ours.Admin().Get(v1+"/sandbox/clock")).text("now"))
	if err != nil {
		s.t.Fatal(err)
	}
	stamp, event := strconv.FormatInt(now.Unix(), 10), uuid.NewString()
	body := fmt.Sprintf(`{"event_id":%q,"timestamp":%s,"type":"transaction.%s","data":{"type":"payment","txid":%q,"id":%q,"status":%q}}`,
		event, stamp, status, id, uuid.NewString(), status)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(stamp + "." + body)) // a hash never fails
	a, err := s.ours.Anyone().With("x-webhook-event-id", event, "x-webhook-timestamp", stamp, "x-webhook-signature", hex.EncodeToString(mac.Sum(nil))).
		Post(v1+"/terminal/"+s.terminals[0]+"/notifications", body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// TestTheOtherPlatformHoldsFirst tests two-phase charges with the terminals of both platforms set to
// hold first.
func TestTheOtherPlatformHoldsFirst(t *testing.T) {
	platforms := startBoth(t)
	s := platforms.side(true, true, true)
	committedID := s.create("payment", good, "1000").has("status", "payment_suspended").text("id")
	s.want(200)(s.ourClient().Post(transactions+"/commit/"+committedID, map[string]any{"params": map[string]any{}})).has("status", "charged", "captured_amount", "1000")
	part := s.create("payment", good, "1000").text("id")
	s.want(200)(s.ourClient().Post(transactions+"/commit/"+part, map[string]any{"params": map[string]any{"amount": "400"}})).has("status", "charged", "captured_amount", "400")
	s.theirTransaction(part).has("status", "charged", "captured_amount", "400")
	s.change(part, "refund", "150").has("status", "refunded", "refunded_amount", "150")
	voided := s.create("payment", good, "1002").text("id")
	s.change(voided, "cancel", "").has("status", "failed")
	s.theirTransaction(voided).has("status", "failed")
	paidOut := s.create("payout", good, "100").has("status", "payout_suspended").text("id")
	s.want(200)(s.ourClient().Post(transactions+"/commit/"+paidOut, "")).has("status", "charged")
	cancelledID := s.create("payout", good, "101").text("id")
	s.change(cancelledID, "cancel", "").has("status", "failed")
	s.wantAgreement()
	platforms.verify()
}

// TestOtherPlatformDecidesWhetherMoneyIsHeld tests terminals with different settings.
func TestOtherPlatformDecidesWhetherMoneyIsHeld(t *testing.T) {
	platforms := startBoth(t)
	s := platforms.side(false, true, false)
	s.create("payment", good, "1000").has("status", "charged")
	s.create("payout", good, "100").has("status", "charged")
	s.wantAgreement()
	s = platforms.side(true, false, true)
	committedID := s.create("payment", good, "1001").has("status", "payment_suspended").text("id")
	s.want(200)(s.ourClient().Post(transactions+"/commit/"+committedID, map[string]any{"params": map[string]any{"amount": "1"}})).has("status", "charged", "captured_amount", "1")
	cancelledID := s.create("payout", good, "101").has("status", "payout_suspended").text("id")
	s.change(cancelledID, "cancel", "").has("status", "failed")
	s.wantAgreement()
	platforms.verify()
}
