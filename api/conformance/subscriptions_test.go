package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Tests of the specification's section "Separate stream on the same address", and of the recurring
// payments that the stream is about.

const (
	subscriptions = v1 + "/subscriptions"
	oneDay        = 24 * 60 * 60
)

// sink is a merchant's notification address.
type sink struct {
	*httptest.Server
	mu  sync.Mutex
	got []streamEvent // guarded by mu
}

// streamEvent is a request that the sink received.
type streamEvent struct {
	body    []byte
	headers http.Header
}

// newSink opens a sink.
func newSink(t testing.TB) *sink {
	t.Helper()
	s := new(sink)
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.got = append(s.got, streamEvent{body, r.Header.Clone()})
	}))
	t.Cleanup(s.Close)
	return s
}

// stream returns the bodies of the notifications that have no event_id, which are those of the subscription stream, in the order
// of arrival.
func (s *sink) stream(t testing.TB) (list []map[string]any) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range s.got {
		decoder := json.NewDecoder(bytes.NewReader(request.body))
		decoder.UseNumber()
		var body map[string]any
		if err := decoder.Decode(&body); err != nil {
			t.Fatalf("%q: %v", request.body, err)
		}
		if _, envelope := body["event_id"]; !envelope {
			list = append(list, body)
		}
	}
	return list
}

// notifySink makes the merchant's first terminal notify the sink.
func (m *merchant) notifySink(s *sink) {
	m.t.Helper()
	admin(m.t).patch(v1+"/terminal/"+m.terminals[0], params{"merchant_params": params{"notify_url": s.URL + "/hook", "secret": "shh"}}).want(200)
}

// subscribe makes a payment, and creates a subscription of 9.90 a day on it.
func (m *merchant) subscribe(more ...any) (id, initial string) {
	m.t.Helper()
	initial = m.create(payment(good)).has("status", "charged").at("id")
	p := params{"initial_payment_id": initial, "amount": "990", "period_days": 1}.with(more...)
	return m.post(subscriptions, params{"params": p}).want(201).at("data.id"), initial
}

func (m *merchant) subscription(id string) *response {
	m.t.Helper()
	return m.get(subscriptions + "/" + id).want(200)
}

// cancelSubscription cancels a subscription, so that it is not renewed during later tests.
func (m *merchant) cancelSubscription(id string) { m.post(subscriptions+"/"+id+"/cancel", nil) }

func TestSubscriptionEventsAreASeparateStreamOnTheSameAddress(t *testing.T) {
	merchant, s := newMerchantWithTerminals(t, `{}`), newSink(t)
	merchant.notifySink(s)
	id, initial := merchant.subscribe("metadata", params{"plan": "gold"})
	defer merchant.cancelSubscription(id)
	advance(t, oneDay)
	last := merchant.subscription(id).at("data.last_transaction_id")
	for _, what := range []string{"pause", "resume", "cancel"} {
		merchant.post(subscriptions+"/"+id+"/"+what, nil).want(200)
		advance(t, 1)
	}
	stream := s.stream(t)
	var events []string
	for _, body := range stream {
		events = append(events, fmt.Sprint(body["event"]))
		if keys := slices.Sorted(maps.Keys(body)); !slices.Equal(keys, []string{"event", "initial_payment_id", "metadata", "partner_id", "subscription", "timestamp"}) {
			t.Errorf("a body has the keys %q", keys)
		}
		if at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(body["timestamp"])); err != nil || at.After(clock(t)) {
			t.Errorf("timestamp %v (%v)", body["timestamp"], err)
		}
		subscription, _ := body["subscription"].(map[string]any)
		metadata, _ := body["metadata"].(map[string]any)
		if subscription["amount"] != json.Number("990") || subscription["id"] != id || metadata["plan"] != "gold" || body["initial_payment_id"] != initial ||
			body["partner_id"] != json.Number(merchant.number) {
			t.Errorf("notified %v", body)
		}
	}
	want := []string{"subscription.renewed", "subscription.paused", "subscription.resumed", "subscription.cancelled"}
	if slices.Sort(events); !slices.Equal(events, slices.Sorted(slices.Values(want))) { // notifications have no fixed order
		t.Errorf("notified of %q, want %q", events, want)
	}
	if shown, _ := stream[0]["subscription"].(map[string]any); shown["last_transaction_id"] != last {
		t.Errorf("the renewal's transaction is %v, want %s", shown["last_transaction_id"], last)
	}
}

func TestSubscriptionNotificationsAreUnsignedTransactionsSigned(t *testing.T) {
	m, s := newMerchantWithTerminals(t, `{}`), newSink(t)
	m.notifySink(s)
	id, _ := m.subscribe()
	defer m.cancelSubscription(id)
	advance(t, oneDay)
	s.mu.Lock()
	defer s.mu.Unlock()
	bare, signed := 0, 0
	for _, request := range s.got {
		hasEventHeaders := request.headers.Get("x-webhook-event-id") != "" || request.headers.Get("x-webhook-timestamp") != ""
		isSigned := request.headers.Get("x-webhook-signature") != ""
		switch envelope := bytes.Contains(request.body, []byte(`"event_id"`)); {
		case envelope && hasEventHeaders && isSigned:
			signed++
		case !envelope && !hasEventHeaders && !isSigned:
			bare++
		default:
			t.Errorf("%s came with %v", request.body, request.headers)
		}
	}
	if bare != 1 || signed != 2 { // the renewal is notified without a signature; the initial payment and the renewal's transaction are notified with one
		t.Errorf("%d without a signature and %d with one", bare, signed)
	}
}

func TestSubscriptionIsRenewedByANewTransaction(t *testing.T) {
	merchant := newMerchantWithTerminals(t, `{"fee_bps":"1000"}`)
	id, initial := merchant.subscribe()
	defer merchant.cancelSubscription(id)
	advance(t, oneDay-1)
	merchant.subscription(id).has("data.status", "active", "data.renewals", "0")
	advance(t, 1)
	renewed := merchant.subscription(id).has("data.renewals", "1").at("data.last_transaction_id")
	merchant.read(renewed).has("type", "payment", "status", "charged", "amount", "990", "merchant_amount", "891", "currency", "USD",
		"merchant_meta.subscription_id", id, "merchant_meta.renewal_number", "1")
	if renewed == initial {
		t.Error("the renewal is the initial payment")
	}
	merchant.wantMoved(renewed, "settle posted: Dr A:provider:T1 990 USD, Cr L:partner:P:available 891 USD, Cr I:fees 99 USD")
	advance(t, 2*oneDay)
	merchant.subscription(id).has("data.renewals", "3")
}

func TestUnpaidRenewalIsRetriedAfterOneThreeAndFiveDays(t *testing.T) {
	merchant, s := newMerchantWithTerminals(t, `{}`), newSink(t)
	merchant.notifySink(s)
	id, _ := merchant.subscribe("period_days", 30)
	defer merchant.cancelSubscription(id)
	admin(t).patch(v1+"/terminal/"+merchant.terminals[0], params{"provider_params": params{"fail": "rejected"}}).want(200)
	for i, days := range []int{30, 1, 3} {
		advance(t, days*oneDay)
		merchant.subscription(id).has("data.status", "past_due", "data.failed_attempts", fmt.Sprint(i+1), "data.renewals", "0")
	}
	advance(t, 5*oneDay)
	merchant.subscription(id).has("data.status", "paused", "data.failed_attempts", "4", "data.next_renewal_at", "null")
	var events []string
	for _, body := range s.stream(t) {
		events = append(events, strings.TrimPrefix(fmt.Sprint(body["event"]), "subscription."))
	}
	if slices.Sort(events); strings.Join(events, " ") != "paused payment_failed payment_failed payment_failed payment_failed" {
		t.Errorf("notified of %q", events)
	}
	merchant.read(merchant.subscription(id).at("data.last_transaction_id")).has("status", "rejected", "merchant_meta.renewal_attempt", "4")
}

func TestResumedSubscriptionIsRenewedOnce(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id, _ := m.subscribe()
	defer m.cancelSubscription(id)
	m.post(subscriptions+"/"+id+"/pause", nil).want(200).has("data.status", "paused")
	advance(t, 10*oneDay)
	m.subscription(id).has("data.renewals", "0")
	m.post(subscriptions+"/"+id+"/resume", nil).want(200).has("data.status", "active")
	advance(t, 1)
	m.subscription(id).has("data.renewals", "1")
	m.post(subscriptions+"/"+id+"/resume", nil).want(409).has("error", "conflict")
}

func TestCancelledSubscriptionIsFinal(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	id, _ := m.subscribe()
	m.post(subscriptions+"/"+id+"/cancel", nil).want(200).has("data.status", "cancelled", "data.next_renewal_at", "null")
	advance(t, 3*oneDay)
	m.subscription(id).has("data.status", "cancelled", "data.renewals", "0")
	for _, what := range []string{"pause", "resume", "cancel"} {
		m.post(subscriptions+"/"+id+"/"+what, nil).want(409).has("error", "conflict")
	}
}

func TestSubscriptionNeedsAChargedPaymentWithAStoredCredential(t *testing.T) {
	m := newMerchantWithTerminals(t, `{}`)
	ask := func(initial string) *response {
		return m.post(subscriptions, params{"params": params{"initial_payment_id": initial, "amount": "990", "period_days": 30}})
	}
	refused := m.create(payment(declined)).at("id")
	wallet := m.create(paymentWith(params{"type": "e_wallet"})).has("status", "charged").at("id")
	foreignPayment := newMerchantWithTerminals(t, `{}`).create(payment(good)).at("id")
	ask(refused).refuses("initial_payment_id", "it is not a charged payment")
	ask(wallet).refuses("initial_payment_id", "the payment left no stored credential that could be charged again")
	ask(foreignPayment).refuses("initial_payment_id", "there is no such payment")
	ask("00000000-0000-4000-8000-000000000000").refuses("initial_payment_id", "there is no such payment")
}
