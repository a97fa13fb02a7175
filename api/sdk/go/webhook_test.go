package mizan

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The delivery of docs/webhooks.md, signed with the secret whsec-example.
const (
	exampleBody = `{"event_id":"01a066c4-364b-41c8-b2d4-5e6f708192a3","timestamp":1788430530,"type":"transaction.charged","data":{"type":"payment","txid":"order-1042","id":"f0b6ac47-fb98-4496-b1aa-601a0f5d967b","amount":"1000","amount_dest":"1000","amount_with_fee":"1000","status":"charged","error_description":"","error_code":null,"merchant_meta":{"basket":"A-17","buyer":"Zoë"}}}`
	exampleSign = "ca89e8c27a817554453b9d2843d5afcb4f869a1a86d65a082f1a51c557d5f547"
	exampleTime = 1788430530
	streamBody  = `{"event":"subscription.renewed","timestamp":"2026-09-03T10:15:30.123456+00:00","subscription":{"id":"7a0f9a3e-52c7-4c0e-9f38-0d1c7e0c6a55","status":"active","amount":123456789012345678901,"currency":"USD","network":"","env":"prod","period_days":30,"next_renewal_at":null,"renewals":1,"last_transaction_id":null},"partner_id":1,"initial_payment_id":"c1c4a1de-6a52-4a5c-8f0b-6c2a8a1f6a3e","metadata":{}}`
)

func verifier(t *testing.T, after time.Duration, secret string, previous ...string) *Verifier {
	t.Helper()
	v, err := NewVerifier(secret, previous...)
	if err != nil {
		t.Fatal(err)
	}
	v.now = func() time.Time { return time.Unix(exampleTime, 0).Add(after) }
	return v
}

func signed(pairs ...string) http.Header {
	header := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		header.Set(pairs[i], pairs[i+1])
	}
	return header
}

func exampleHeader() http.Header {
	return signed("x-webhook-timestamp", strconv.Itoa(exampleTime), "x-webhook-signature", exampleSign)
}

func TestAGenuineNotificationIsRead(t *testing.T) {
	t.Parallel()
	n, err := verifier(t, 0, "whsec-example").Verify(exampleHeader(), []byte(exampleBody))
	if err != nil {
		t.Fatal(err)
	}
	e := n.Transaction
	if n.Subscription != nil || e.EventID != "01a066c4-364b-41c8-b2d4-5e6f708192a3" || e.Type != EventTransactionCharged || e.Data.Amount != MinorUnits(1000) ||
		e.Data.Status != StatusCharged || e.Data.ErrorCode != "" || e.Data.MerchantMeta["buyer"] != "Zoë" {
		t.Errorf("%+v", e)
	}
}

func TestTimestampsAreWithinFiveMinutes(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]error{
		300 * time.Second: nil, -300 * time.Second: nil, 301 * time.Second: ErrNotGenuine, -301 * time.Second: ErrNotGenuine,
		100 * 365 * 24 * time.Hour: ErrNotGenuine,
	} {
		if _, err := verifier(t, after, "whsec-example").Verify(exampleHeader(), []byte(exampleBody)); !errors.Is(err, want) {
			t.Errorf("after %v: %v", after, err)
		}
	}
	for _, stamp := range []string{"", " 1788430530", "+1788430530", "1788430530 ", "1.78843053e9", "１７８８４３０５３０", "0001788430530", "-1"} {
		header := exampleHeader()
		header.Set("x-webhook-timestamp", stamp)
		mac := hmac.New(sha256.New, []byte("whsec-example"))
		mac.Write([]byte(stamp + "." + exampleBody))
		header.Set("x-webhook-signature", hex.EncodeToString(mac.Sum(nil)))
		if _, err := verifier(t, 0, "whsec-example").Verify(header, []byte(exampleBody)); !errors.Is(err, ErrNotGenuine) {
			t.Errorf("%q: %v", stamp, err)
		}
	}
}

func TestEverySecretIsComparedWithBothSignatures(t *testing.T) {
	t.Parallel()
	stamp := strconv.Itoa(exampleTime)
	previous := signed("x-webhook-timestamp", stamp, "x-webhook-signature", strings.Repeat("0", 64), "x-webhook-signature-previous", exampleSign)
	for _, c := range []struct {
		secrets []string
		header  http.Header
		want    error
	}{
		{[]string{"whsec-example"}, previous, nil},
		{[]string{"whsec-new", "whsec-example"}, exampleHeader(), nil},
		{[]string{"whsec-example", "whsec-old"}, exampleHeader(), nil},
		{[]string{"whsec-new"}, exampleHeader(), ErrNotGenuine},
		{[]string{"whsec-example"}, signed("x-webhook-timestamp", stamp), ErrNotGenuine},
		{[]string{"whsec-example"}, signed("x-webhook-timestamp", stamp, "x-webhook-signature", strings.ToUpper(exampleSign)), ErrNotGenuine},
		{[]string{"whsec-example"}, signed("x-webhook-timestamp", stamp, "x-webhook-signature", exampleSign[:63]), ErrNotGenuine},
		{[]string{"whsec-example"}, http.Header{}, ErrNotGenuine},
	} {
		if _, err := verifier(t, 0, c.secrets[0], c.secrets[1:]...).Verify(c.header, []byte(exampleBody)); !errors.Is(err, c.want) {
			t.Errorf("%v %v: %v", c.secrets, c.header, err)
		}
	}
	for _, secrets := range [][]string{{""}, {"a", ""}} {
		if _, err := NewVerifier(secrets[0], secrets[1:]...); err == nil {
			t.Errorf("%q is accepted", secrets)
		}
	}
}

func TestAChangedBodyIsRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]error{
		strings.Replace(exampleBody, `"1000"`, `"9000"`, 1): ErrNotGenuine, exampleBody + " ": ErrNotGenuine,
		`{"event_id":null}`: ErrNotGenuine, `[]`: ErrNotNotification, `null`: ErrNotNotification, ``: ErrNotNotification, `{`: ErrNotNotification, `{}`: ErrNotNotification,
		`{"event":"subscription.renewed"}`: ErrNotNotification,
	} {
		if _, err := verifier(t, 0, "whsec-example").Verify(exampleHeader(), []byte(body)); !errors.Is(err, want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestTheSubscriptionStreamIsAHint(t *testing.T) {
	t.Parallel()
	n, err := verifier(t, 0, "whsec-example").Verify(http.Header{}, []byte(streamBody))
	if err != nil || n.Transaction != nil || n.Subscription.Event != EventSubscriptionRenewed || n.Subscription.Subscription.Amount.String() != "123456789012345678901" {
		t.Errorf("%+v %v", n, err)
	}
}

func TestARequestIsRead(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int{
		exampleBody: 200, `{}`: 400, exampleBody + " ": 401, strings.Repeat(" ", maxNotification) + exampleBody: 413,
	} {
		request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		request.Header = exampleHeader()
		_, err := verifier(t, 0, "whsec-example").ReadNotification(request)
		if got := WebhookStatus(err); got != want {
			t.Errorf("%d bytes: %d, want %d (%v)", len(body), got, want, err)
		}
	}
	if WebhookStatus(errors.New("the disk is full")) != 500 {
		t.Error("another error must be retried")
	}
}
