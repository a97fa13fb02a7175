package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Tests of the specification's section "Events": what merchants are notified of, and how.

func TestStatusChangesArePushedToTheTerminalsAddress(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	other := newHook(t)
	m.notify(1, other.merchantParams())
	m.create(payment(good, "txid", "in"))
	m.create(payout(good, "txid", "out", "amount", "1"))
	h.wantNotified("charged of in")
	other.wantNotified("charged of out")
}

func TestEachStatusHasOneEventType(t *testing.T) {
	merchant, h := newMerchantWithHook(t, `{}`)
	types := func(want ...string) {
		t.Helper()
		for _, n := range h.wantNotified(want...) {
			if n.parsed.Type != "transaction."+n.parsed.Data.Status {
				t.Errorf("type %s of status %s", n.parsed.Type, n.parsed.Data.Status)
			}
		}
	}
	merchant.create(payment(good, "txid", "a"))
	merchant.create(payment(declined, "txid", "b"))
	merchant.create(payment(processing, "txid", "c"))
	types("charged of a", "rejected of b", "failed of c")
	merchant.create(payment(redirected, "txid", "d"))
	types("action_required of d")
	merchant.cancel(merchant.create(payment(password, "txid", "e")).at("id")).want(200)
	types("action_required of e", "failed of e")
	slow := merchant.create(payment(refundSlow, "txid", "f")).at("id")
	merchant.refund(slow, "").want(200).has("status", "refunding")
	types("charged of f", "refunding of f")
	advance(t, 5)
	types("refunded of f")
	merchant.create(payment(delayed, "txid", "g"))
	types() // the status charging causes no notification
	advance(t, 5)
	types("charged of g")
	merchant.create(payment(chargedBack, "txid", "h"))
	types("charged of h")
	advance(t, 60)
	types("reversed of h", "charged of ") // the chargeback is a separate transaction

	two, twoPhase := newMerchantWithHook(t, `{"two_phase":true}`)
	h = twoPhase
	id := two.create(payment(good, "txid", "i")).at("id")
	types("payment_suspended of i")
	two.commit(id, "").want(200)
	types("charged of i")
	id = two.create(payout(good, "txid", "j", "amount", "5")).has("status", "payout_suspended").at("id")
	types("payout_suspended of j")
	two.cancel(id).want(200)
	types("failed of j")
	two.create(payment(good, "txid", "k"))
	types("payment_suspended of k")
	advance(t, 604800)
	types("failed of k")
}

func TestEnvelopeHasItsFields(t *testing.T) {
	m, h := newMerchantWithHook(t, `{"fee_bps":"1000","fee_mode":"on_top"}`)
	now := clock(t)
	id := m.create(payment(good, "txid", `t "1" é`, "merchant_meta", params{"order": 7, "deep": params{"a": []int{1}}})).at("id")
	n := h.wantNotified(`charged of t "1" é`)[0]
	if names := slices.Sorted(maps.Keys(n.object(""))); strings.Join(names, " ") != "data event_id timestamp type" {
		t.Errorf("the envelope has %v", names)
	}
	data := n.object("data")
	want := map[string]string{
		"type": `"payment"`, "txid": `"t \"1\" é"`, "id": `"` + id + `"`, "amount": `"1000"`, "amount_dest": `"1000"`, "amount_with_fee": `"1100"`,
		"status": `"charged"`, "error_description": `""`, "error_code": `null`, "merchant_meta": `{"order":7,"deep":{"a":[1]}}`,
	}
	for name, value := range want {
		if name != "merchant_meta" && string(data[name]) != value {
			t.Errorf("data.%s = %s, want %s", name, data[name], value)
		}
	}
	var meta struct {
		Order json.Number
		Deep  struct{ A []int }
	}
	if err := json.Unmarshal(data["merchant_meta"], &meta); err != nil || meta.Order != "7" || len(meta.Deep.A) != 1 {
		t.Errorf("merchant_meta is %s", data["merchant_meta"])
	}
	if len(data) != len(want) {
		t.Errorf("data has %v", slices.Sorted(maps.Keys(data)))
	}
	if n.parsed.Timestamp != now.Unix() {
		t.Errorf("timestamp %d, the clock said %d", n.parsed.Timestamp, now.Unix())
	}
	if !uuid4.MatchString(n.parsed.EventID) {
		t.Errorf("event_id %s", n.parsed.EventID)
	}
}

func TestRejectionNotificationHasItsReason(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	m.create(payment(noFunds, "txid", "a"))
	if got := h.wantNotified("rejected of a")[0].parsed.Data; got.Error != "There is not enough money on the card." || got.Code != "insufficient_funds" {
		t.Errorf("error_description %q, error_code %q", got.Error, got.Code)
	}
}

func TestSignatureCoversTimestampAndBody(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	m.create(payment(good, "txid", "a"))
	n := h.wantNotified("charged of a")[0]
	n.hasHeaders(n.signatureHeaders("whsec"))
}

func TestNotificationsWithoutASecretAreUnsigned(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	m.notify(0, h.merchantParams())
	m.create(payment(good, "txid", "a"))
	h.wantNotified("charged of a")[0].hasHeaders(nil)
}

func TestBothSecretsSignDuringARotation(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	m.notify(0, h.merchantParams("secret", "new", "secret_previous", "old"))
	m.create(payment(good, "txid", "a"))
	n := h.wantNotified("charged of a")[0]
	want := n.signatureHeaders("new")
	want["x-webhook-signature-previous"] = n.signed("old")
	n.hasHeaders(want)
}

// The first attempt is immediate. By the server's clock, the next five are made 30 s, 2 min, 10 min, 1 h and 6 h after the
// previous failure. There is no attempt after the sixth.
func TestFailedDeliveriesAreRetriedOnScheduleAndParkedAfterTheSixth(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	h.respond(http.StatusInternalServerError)
	id := m.create(payment(good, "txid", "a")).at("id")
	first := clock(t)
	if n := len(h.waitForAll()); n != 1 {
		t.Fatalf("%d attempts at once", n)
	}
	at := first
	for i, gap := range []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour} {
		at = at.Add(gap)
		setClock(t, at.Add(-time.Microsecond))
		if n := len(h.received()); n != i+1 {
			t.Errorf("%d attempts before %v are over", n, gap)
		}
		deliveriesOf(t, id).has("data.0.state", "pending", "data.0.attempts", fmt.Sprint(i+1), "data.0.next_at", at.Format(timeFormat))
		setClock(t, at)
		if n := len(h.received()); n != i+2 {
			t.Errorf("%d attempts after %v", n, gap)
		}
	}
	deliveriesOf(t, id).has("data.0.state", "parked", "data.0.attempts", "6", "data.0.next_at", "null")
	advance(t, 7*24*3600)
	if n := len(h.waitForAll()); n != 6 {
		t.Errorf("%d attempts in all", n)
	}
}

// When the clock jumps, the timers in between fire one after the other, so that each attempt is made at its own
// time. All attempts have the same event_id and data, but different timestamps and signatures.
func TestEachAttemptHasTheSameEventIDAndAFreshSignature(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	h.respond(http.StatusBadGateway)
	m.create(payment(good, "txid", "a"))
	first := clock(t)
	advance(t, 8*3600)
	all := h.wantNotified("charged of a", "charged of a", "charged of a", "charged of a", "charged of a", "charged of a")
	at := first
	for i, n := range all {
		at = at.Add([]time.Duration{0, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}[i])
		if n.parsed.Timestamp != at.Unix() {
			t.Errorf("attempt %d is of %v, want %v", i+1, time.Unix(n.parsed.Timestamp, 0).UTC(), at)
		}
		n.hasHeaders(n.signatureHeaders("whsec"))
		if n.parsed.EventID != all[0].parsed.EventID || string(n.object("")["data"]) != string(all[0].object("")["data"]) {
			t.Errorf("attempt %d tells something else: %s", i+1, n.body)
		}
		if i > 0 && n.header.Get("x-webhook-signature") == all[i-1].header.Get("x-webhook-signature") {
			t.Errorf("attempt %d has the signature of the one before", i+1)
		}
	}
}

func TestAny2xxAcknowledgesWhateverItsBody(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	for _, status := range []int{200, 201, 202, 204, 226, 299} {
		h.respondWith(func(w http.ResponseWriter) {
			w.WriteHeader(status)
			if status != 204 {
				_, _ = w.Write([]byte(`{"error":"no"}`))
			}
		})
		id := m.create(payment(good, "txid", fmt.Sprint(status))).at("id")
		h.wantNotified("charged of " + fmt.Sprint(status))
		deliveriesOf(t, id).has("data.0.state", "delivered", "data.0.attempts", "1")
	}
	advance(t, 8*3600)
	h.wantNotified()
}

func TestAnyStatusOtherThan2xxIsAFailure(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	otherHook := newHook(t)
	for _, status := range []int{301, 302, 307, 308, 400, 401, 404, 410, 429, 500, 503} {
		h.respondWith(func(w http.ResponseWriter) {
			w.Header().Set("location", otherHook.server.URL)
			w.WriteHeader(status)
		})
		id := m.create(payment(good, "txid", fmt.Sprint(status))).at("id")
		h.wantNotified("charged of " + fmt.Sprint(status))
		event := deliveriesOf(t, id).has("data.0.state", "pending").at("data.0.event_id")
		admin(t).get(v1+"/deliveries/"+event).want(200).has("data.attempts.0.status", fmt.Sprint(status)).matches("data.attempts.0.error", regexp.MustCompile(`.`))
	}
	otherHook.wantNotified() // a redirect is not followed
}

func TestUnreachableReceiverIsAFailure(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	h.server.Close()
	id := m.create(payment(good)).has("status", "charged").at("id")
	advance(t, 1)
	event := deliveriesOf(t, id).has("data.0.state", "pending", "data.0.attempts", "1").at("data.0.event_id")
	admin(t).get(v1+"/deliveries/"+event).want(200).has("data.attempts.0.status", "null").matches("data.attempts.0.error", regexp.MustCompile(`.`))
}

func TestRejectionIsNotNotifiedDuringFailover(t *testing.T) {
	m, h := newMerchant(t), newHook(t)
	m.addTerminal("payment", `{"priority":1,"fail":"rejected"}`)
	m.addTerminal("payment", `{"priority":2}`)
	for i := range m.terminals {
		m.notify(i, h.merchantParams())
	}
	id := m.create(payment(good, "txid", "a")).has("status", "charged").at("id")
	h.wantNotified("charged of a")
	deliveriesOf(t, id).has("data.0.terminal_id", m.terminals[1], "data.1", absent)
	m.create(payment(declined, "txid", "b"))
	h.wantNotified("rejected of b") // the refusal of the last terminal ends the transaction
}

func TestTransactionWithoutATerminalNotifiesTheMerchantTerminal(t *testing.T) {
	m, h := newMerchant(t), newHook(t)
	terminal := m.addMerchantTerminal(h.merchantParams("secret", "own"))
	id := m.create(payment(good, "txid", "a")).has("status", "rejected", "error_description", "no terminal available").at("id")
	n := h.wantNotified("rejected of a")[0]
	n.hasHeaders(n.signatureHeaders("own"))
	deliveriesOf(t, id).has("data.0.terminal_id", terminal)
	m.create(paymentWith(params{}, "txid", "b")).has("error_description", "unexpected card")
	h.wantNotified("rejected of b")
}

func TestPartnerAddressIsUsedIfTheTerminalHasNone(t *testing.T) {
	h, terminals := newHook(t), newHook(t)
	merchant := newMerchant(t, "notify_url", h.server.URL, "secret", "the partner's")
	id := merchant.create(payment(good, "txid", "a")).has("error_description", "no terminal available").at("id")
	n := h.wantNotified("rejected of a")[0]
	n.hasHeaders(n.signatureHeaders("the partner's"))
	to := deliveriesOf(t, id).at("data.0.terminal_id") // here an id that stands for the partner's own address
	admin(t).get(v1+"/deliveries?terminal_id="+to).want(200).has("data.0.transaction_id", id, "data.1", absent)
	admin(t).post(v1+"/deliveries/replay", params{"terminal_id": to}).wantBody(200, `{"data":{"replayed":0}}`)
	merchant.addTerminal("payment", `{}`)
	merchant.create(payment(good, "txid", "b"))
	n = h.wantNotified("charged of b")[0]
	n.hasHeaders(n.signatureHeaders("the partner's"))
	merchant.notify(0, terminals.merchantParams()) // notifications to a terminal's address without a secret are not signed, not even with the partner's secret
	merchant.create(payment(good, "txid", "c"))
	terminals.wantNotified("charged of c")[0].hasHeaders(nil)
	h.wantNotified()
}

func TestNotificationAddressInTheRequestIsIgnored(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	sent := newHook(t)
	m.create(payment(good, "txid", "a", "notifyUrl", sent.server.URL, "notify_url", sent.server.URL))
	h.wantNotified("charged of a")
	sent.wantNotified()
}

// No notification of a card payment contains any part of the card's data.
func TestNoNotificationHasCredentials(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	for _, number := range []string{good, declined, processing, redirected, delayed} {
		m.create(payment(number, "txid", "a"+number[12:]))
	}
	advance(t, 5)
	notified := h.waitForAll()
	for _, n := range notified {
		if quoted := quotedCard(n.body); quoted != "" || strings.Contains(n.body, "JANE DOE") || strings.Contains(n.body, "cvv") {
			t.Errorf("notified with credentials: %s", n.body)
		}
	}
	if len(notified) != 5 {
		t.Errorf("%d notifications", len(notified))
	}
}

func TestNothingIsNotifiedWithoutAnAddress(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id := m.create(payment(good)).has("status", "charged").at("id")
	advance(t, 1)
	deliveriesOf(t, id).has("data.0", absent)
}

// The creation of a hosted transaction causes no notification. Its end causes one, even if it ends because the payer's card is
// refused.
func TestHostedTransactionNotifiesItsEnd(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	id := m.create(hosted("txid", "a")).has("status", "created").at("id")
	h.wantNotified()
	m.continueWith(id, params{"money_storage": card(processing)}).want(200).has("status", "failed")
	h.wantNotified("failed of a")
}

func TestOnlyRefundsAndCorrectionsNotifyASecondTime(t *testing.T) {
	merchant, h := newMerchantWithHook(t, `{}`)
	id := merchant.create(payment(good, "txid", "a")).at("id")
	first := h.wantNotified("charged of a")[0]
	merchant.refund(id, "400").want(200)
	second := h.wantNotified("refunded of a")[0]
	merchant.refund(id, "100").want(200)
	third := h.wantNotified("refunded of a")[0]
	if a, b, c := first.parsed.EventID, second.parsed.EventID, third.parsed.EventID; a == b || b == c || a == c {
		t.Errorf("events %s, %s and %s", a, b, c)
	}
	merchant.refund(merchant.create(payment(refundRefused, "txid", "b")).at("id"), "").want(200)
	h.wantNotified("charged of b")
}

// The address and the secret of a notification are looked up at each attempt.
func TestRetryUsesTheCurrentAddressAndSecret(t *testing.T) {
	m, h := newMerchantWithHook(t, `{}`)
	h.respond(500)
	m.create(payment(good, "txid", "a"))
	before := h.wantNotified("charged of a")[0]
	secondHook := newHook(t)
	m.notify(0, secondHook.merchantParams("secret", "next"))
	advance(t, 30)
	after := secondHook.wantNotified("charged of a")[0]
	after.hasHeaders(after.signatureHeaders("next"))
	if after.parsed.EventID != before.parsed.EventID {
		t.Errorf("it is another event")
	}
}

func TestDeliverySurvivesAKillWithItsEventID(t *testing.T) {
	s, m, ad := startOwnServer(t)
	h := newHook(t)
	h.respond(500)
	ad.patch(v1+"/partners/"+m.number, params{"notify_url": h.server.URL, "secret": "whsec"}).want(200)
	step := func(seconds int) { ad.put(v1+"/sandbox/clock", params{"advance_seconds": seconds}).want(200) }
	m.create(payment(good, "txid", "a"))
	step(1)
	s.Kill()
	s.Restart()
	m.client, ad.client = s.Partner(), s.Admin()
	h.respond(200)
	step(30)
	step(8 * 3600)
	seen := h.received()
	if len(seen) != 2 || seen[0].parsed.EventID != seen[1].parsed.EventID || string(seen[0].object("")["data"]) != string(seen[1].object("")["data"]) {
		t.Errorf("%d attempts", len(seen))
	}
}

// deliveriesOf returns the list of a transaction's notifications.
func deliveriesOf(t testing.TB, id string) *response {
	t.Helper()
	return admin(t).get(v1 + "/deliveries?transaction_id=" + id).want(200)
}

// timeFormat is the format of times in responses.
const timeFormat = "2006-01-02T15:04:05.000000-07:00"

// setClock moves the clock to an instant. It returns when everything that became due has been done.
func setClock(t testing.TB, at time.Time) {
	t.Helper()
	admin(t).put(v1+"/sandbox/clock", `{"now":"`+at.Format(time.RFC3339Nano)+`"}`).want(200)
}
