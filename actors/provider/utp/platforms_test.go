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

// The sandbox's cards. Each name says what happens to a charge of the card.
const (
	goodCard          = "4242424242424242"
	declinedCard      = "4000000000000002"
	failedCard        = "4000000000000119"
	redirectCard      = "4000000000003220"
	otpCard           = "4000002500003155"
	delayedCard       = "4000000000000077"
	silentCard        = "4000000000000341"
	chargebackCard    = "4000000000000259"
	refusedRefundCard = "4000000000005126"
	slowRefundCard    = "4000000000007726"
)

// In TestAnotherPlatformIsAProvider the service is a merchant of another platform, which carries out everything
// that our own merchant requests. The ledgers of the two platforms agree.
func TestAnotherPlatformIsAProvider(t *testing.T) {
	platforms := startPlatforms(t)
	pair := platforms.connectPartners(false, false, false)
	t.Run("payments and payouts", pair.testPaymentsAndPayouts)
	t.Run("refunds", pair.testRefunds)
	t.Run("payer actions", pair.testPayerActions)
	t.Run("delays", pair.testDelays)
	t.Run("reversals", pair.testReversals)
	t.Run("notifications", pair.testNotifications)
	pair.t = t
	pair.settleAll()
	pair.wantAgreement()
	platforms.verify()
}

// useTest makes failures appear under the name of a subtest.
func (s *partnerPair) useTest(t *testing.T) { s.t = t; s.platforms.t = t }

func (s *partnerPair) testPaymentsAndPayouts(t *testing.T) {
	s.useTest(t)
	paid := s.create("payment", goodCard, "1000").expect("status", "charged", "route", "utp", "amount", "1000")
	theirTransaction := s.theirTransaction(paid.text("id")).expect("status", "charged", "amount", "1000", "type", "payment")
	paid.expect("rrn", theirTransaction.text("rrn"), "merchant_meta.utp_id", theirTransaction.text("id"))
	s.create("payment", declinedCard, "1001").expect("status", "rejected", "error_code", "card_declined")
	s.create("payment", failedCard, "1002").expect("status", "failed", "error_code", "processing_error")
	s.create("payout", goodCard, "300").expect("status", "charged")
	s.create("payout", declinedCard, "301").expect("status", "rejected", "error_code", "card_declined")
	s.want(201)(s.ourClient().Post(transactions, map[string]any{"params": map[string]any{
		"type": "payment", "amount": "999999999999999999", "currency": "USDT", "network": "tron", "returnUrl": shop, "failUrl": shop,
		"money_storage": map[string]string{"type": "gift_card"},
	}})).expect("status", "charged", "network", "tron", "amount", "999999999999999999")
}

func (s *partnerPair) testRefunds(t *testing.T) {
	s.useTest(t)
	fullyRefundedID := s.create("payment", goodCard, "2000").text("id")
	s.change(fullyRefundedID, "refund", "").expect("status", "refunded", "refund_msg", "The money was returned.", "refunded_amount", "2000")
	s.theirTransaction(fullyRefundedID).expect("status", "refunded", "refunded_amount", "2000")

	partlyRefundedID := s.create("payment", goodCard, "2001").text("id")
	s.change(partlyRefundedID, "refund", "700").expect("status", "refunded", "refunded_amount", "700")
	s.change(partlyRefundedID, "refund", "1").expect("status", "refunded", "refunded_amount", "701")
	s.theirTransaction(partlyRefundedID).expect("refunded_amount", "701")
	s.change(partlyRefundedID, "refund", "").expect("refunded_amount", "2001")
	s.theirTransaction(partlyRefundedID).expect("refunded_amount", "2001")

	refusedRefundID := s.create("payment", refusedRefundCard, "2002").text("id")
	s.change(refusedRefundID, "refund", "2").expect("status", "charged", "refund_msg", "The provider refused the refund.", "refunded_amount", "0")

	slowRefundID := s.create("payment", slowRefundCard, "2003").text("id")
	s.change(slowRefundID, "refund", "3").expect("status", "refunding")
	s.advance(20)
	s.read(slowRefundID).expect("status", "refunded", "refunded_amount", "3")
}

func (s *partnerPair) testPayerActions(t *testing.T) {
	s.useTest(t)
	for button, want := range map[string]string{"approve": "charged", "refuse": "rejected"} {
		created := s.create("payment", redirectCard, "3000").expect("status", "action_required", "auth_params.type", "redirect")
		theirTransaction := s.theirTransaction(created.text("id")).expect("auth_params.url", created.text("auth_params.url"))
		s.wantTheirPage(created, theirTransaction.text("id"))
		if button == "approve" {
			s.advance(16 * 60) // both pages' addresses have expired; reading the transaction gives new ones
			s.wantTheirPage(s.read(created.text("id")), theirTransaction.text("id"))
			s.advance(5 * 60)
			s.wantTheirPage(s.read(created.text("id")), theirTransaction.text("id"))
		}
		landedAt := s.browse(created.text("auth_params.url"), url.Values{button: {"1"}})
		s.read(created.text("id")).expect("status", want)
		if back := map[string]string{"approve": shop + "/ok", "refuse": shop + "/no"}[button]; landedAt != back {
			t.Errorf("a payer who clicks %s is sent to %s, want %s", button, landedAt, back)
		}
	}
	for otp, want := range map[string]string{"123456": "charged", "000000": "rejected"} {
		id := s.create("payment", otpCard, "3001").expect("status", "action_required", "additional_params_for_auth.type", "otp").text("id")
		s.want(422)(s.ourClient().Post(transactions+"/additional_params_for_auth/"+id, `{"additional_params_for_auth":{"otp":""}}`))
		s.read(id).expect("status", "action_required")
		s.theirTransaction(id).expect("status", "action_required")
		s.want(200)(s.ourClient().Post(transactions+"/additional_params_for_auth/"+id, map[string]any{
			"additional_params_for_auth": map[string]string{"otp": otp},
		})).expect("status", want)
	}
	created := s.want(201)(s.ourClient().Post(transactions, map[string]any{"params": map[string]any{
		"type": "payout", "amount": "3002", "currency": "EUR", "money_storage": map[string]string{"type": "sepa"},
	}})).expect("status", "action_required")
	offered, _ := created.at("availble_destinations").([]any)
	if len(offered) == 0 {
		t.Fatal("no destinations are offered")
	}
	bank := object{t, offered[1]}.text("target_bank_id")
	s.want(200)(s.ourClient().Post(transactions+"/choose_target_destination/"+created.text("id"), map[string]string{"target_bank_id": bank})).expect("status", "charged")

	s.testPayerSignature(t)
	cancelledID := s.create("payment", redirectCard, "3003").text("id")
	s.change(cancelledID, "cancel", "").expect("status", "failed")
	s.theirTransaction(cancelledID).expect("status", "failed")
}

// wantTheirPage checks that our payer page sends the payer to the other platform's page, and that their page is
// still valid.
func (s *partnerPair) wantTheirPage(ourTransaction object, theirID string) {
	s.t.Helper()
	browser := s.browser()
	pageURL := s.redirectTarget(browser.Get(ourTransaction.text("simple_auth_redirect_url")))
	if !strings.HasPrefix(pageURL, s.theirs.BaseURL+"/pay/"+theirID+"?token=") {
		s.t.Errorf("our page sends the payer to %s, want theirs", pageURL)
	}
	answer, err := browser.Get(pageURL)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != 200 && answer.StatusCode != 303 {
		s.t.Errorf("their page answers %d", answer.StatusCode)
	}
}

// testPayerSignature tests a payment that the payer signs: the other platform determines the payload to be signed,
// and when the payload expires.
func (s *partnerPair) testPayerSignature(t *testing.T) {
	created := s.want(201)(s.ourClient().Post(transactions, map[string]any{"params": map[string]any{
		"type": "payment", "amount": "3004", "currency": "USD", "returnUrl": shop, "failUrl": shop, "money_storage": map[string]string{"type": "native_gas"},
	}})).expect("status", "action_required")
	const payloadPath, expiryPath = "additional_params_for_auth.payload", "additional_params_for_auth.expires_at"
	id := created.text("id")
	s.theirTransaction(id).expect(payloadPath, created.text(payloadPath), expiryPath, created.text(expiryPath))
	submit := func(status int, signature string) object {
		return s.want(status)(s.ourClient().Post(transactions+"/additional_params_for_auth/"+id, map[string]any{
			"additional_params_for_auth": map[string]string{"signature": signature},
		}))
	}
	submit(422, "")
	s.advance(61)
	submit(422, signatureOf(created.text(payloadPath))).expect("error", "expired")
	renewed := s.read(id).expect("status", "action_required")
	if renewed.text(payloadPath) == created.text(payloadPath) || renewed.text(expiryPath) == created.text(expiryPath) {
		t.Errorf("after expires_at ours is %s until %s", renewed.text(payloadPath), renewed.text(expiryPath))
	}
	s.theirTransaction(id).expect(payloadPath, renewed.text(payloadPath), expiryPath, renewed.text(expiryPath))
	submit(200, signatureOf(renewed.text(payloadPath))).expect("status", "charged")
	s.theirTransaction(id).expect("status", "charged")
}

// signatureOf returns the lower-case hex SHA-256 of a text.
func signatureOf(payload string) string {
	digest := sha256.Sum256([]byte(payload))
	return hex.EncodeToString(digest[:])
}

func (s *partnerPair) testDelays(t *testing.T) {
	s.useTest(t)
	lateID := s.create("payment", delayedCard, "4000").expect("status", "charging").text("id")
	unansweredID := s.create("payment", silentCard, "4001").expect("status", "charging").text("id")
	payoutID := s.create("payout", delayedCard, "4002").expect("status", "charging").text("id")
	s.advance(30)
	for _, id := range []string{lateID, unansweredID, payoutID} {
		s.read(id).expect("status", "charged")
	}
	cancelledID := s.create("payment", delayedCard, "4003").text("id")
	s.change(cancelledID, "cancel", "").expect("status", "failed", "error_code", "cancelled")
}

func (s *partnerPair) testReversals(t *testing.T) {
	s.useTest(t)
	id := s.create("payment", chargebackCard, "5000").expect("status", "charged").text("id")
	s.advanceOne(s.theirs, 60)
	s.theirTransaction(id).expect("status", "reversed")
	s.read(id).expect("status", "charged")
	s.advance(300)
	s.read(id).expect("status", "reversed")
}

// A notification makes us inquire at once; without a notification our clock decides when we inquire.
func (s *partnerPair) testNotifications(t *testing.T) {
	s.useTest(t)
	lateID := s.create("payment", delayedCard, "6000").expect("status", "charging").text("id")
	chargedBackID := s.create("payment", chargebackCard, "6001").expect("status", "charged").text("id")
	s.advanceOne(s.theirs, 60)
	s.read(lateID).expect("status", "charging")
	s.read(chargedBackID).expect("status", "charged")
	forged := s.notify(lateID, "charged", "another secret")
	if forged.Status != 401 {
		t.Errorf("a notification that is not signed by them answers %d %s", forged.Status, forged.Body)
	}
	for id, status := range map[string]string{lateID: "charged", chargedBackID: "reversed"} {
		if a := s.notify(id, status, hookSecret); a.Status != 200 {
			t.Fatalf("a notification answers %d %s", a.Status, a.Body)
		}
		s.advanceOne(s.ours, 0) // setting the clock returns only when nothing is in progress
		s.read(id).expect("status", status)
	}
}

// notify sends the notification that the other platform sends when a transaction reaches a status.
func (s *partnerPair) notify(id, status, secret string) *testkit.Answer {
	s.t.Helper()
	now, err := time.Parse(time.RFC3339Nano, s.want(200)(s.ours.Admin().Get(v1+"/sandbox/clock")).text("now"))
	if err != nil {
		s.t.Fatal(err)
	}
	timestamp, event := strconv.FormatInt(now.Unix(), 10), uuid.NewString()
	body := fmt.Sprintf(`{"event_id":%q,"timestamp":%s,"type":"transaction.%s","data":{"type":"payment","txid":%q,"id":%q,"status":%q}}`,
		event, timestamp, status, id, uuid.NewString(), status)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(timestamp + "." + body)) // a hash never fails
	a, err := s.ours.Anyone().With("x-webhook-event-id", event, "x-webhook-timestamp", timestamp, "x-webhook-signature", hex.EncodeToString(mac.Sum(nil))).
		Post(v1+"/terminal/"+s.terminals[0]+"/notifications", body)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// TestTheOtherPlatformHoldsFirst tests two-phase charges: the terminals of both platforms are set to hold money
// before they charge it.
func TestTheOtherPlatformHoldsFirst(t *testing.T) {
	platforms := startPlatforms(t)
	pair := platforms.connectPartners(true, true, true)
	committedID := pair.create("payment", goodCard, "1000").expect("status", "payment_suspended").text("id")
	pair.want(200)(pair.ourClient().Post(transactions+"/commit/"+committedID, map[string]any{"params": map[string]any{}})).expect("status", "charged", "captured_amount", "1000")
	partlyCapturedID := pair.create("payment", goodCard, "1000").text("id")
	pair.want(200)(pair.ourClient().Post(transactions+"/commit/"+partlyCapturedID, map[string]any{"params": map[string]any{"amount": "400"}})).expect("status", "charged", "captured_amount", "400")
	pair.theirTransaction(partlyCapturedID).expect("status", "charged", "captured_amount", "400")
	pair.change(partlyCapturedID, "refund", "150").expect("status", "refunded", "refunded_amount", "150")
	voidedID := pair.create("payment", goodCard, "1002").text("id")
	pair.change(voidedID, "cancel", "").expect("status", "failed")
	pair.theirTransaction(voidedID).expect("status", "failed")
	payoutID := pair.create("payout", goodCard, "100").expect("status", "payout_suspended").text("id")
	pair.want(200)(pair.ourClient().Post(transactions+"/commit/"+payoutID, "")).expect("status", "charged")
	cancelledID := pair.create("payout", goodCard, "101").text("id")
	pair.change(cancelledID, "cancel", "").expect("status", "failed")
	pair.wantAgreement()
	platforms.verify()
}

// In TestOtherPlatformDecidesWhetherMoneyIsHeld only one of the two platforms' terminals is set to hold money.
func TestOtherPlatformDecidesWhetherMoneyIsHeld(t *testing.T) {
	platforms := startPlatforms(t)
	pair := platforms.connectPartners(false, true, false)
	pair.create("payment", goodCard, "1000").expect("status", "charged")
	pair.create("payout", goodCard, "100").expect("status", "charged")
	pair.wantAgreement()
	pair = platforms.connectPartners(true, false, true)
	committedID := pair.create("payment", goodCard, "1001").expect("status", "payment_suspended").text("id")
	pair.want(200)(pair.ourClient().Post(transactions+"/commit/"+committedID, map[string]any{"params": map[string]any{"amount": "1"}})).expect("status", "charged", "captured_amount", "1")
	cancelledID := pair.create("payout", goodCard, "101").expect("status", "payout_suspended").text("id")
	pair.change(cancelledID, "cancel", "").expect("status", "failed")
	pair.wantAgreement()
	platforms.verify()
}
