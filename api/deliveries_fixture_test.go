package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

const deliveriesPath = "/api/v1/deliveries"

// webhookReceiver receives notifications and responds with the status that a test sets.
type webhookReceiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int      // guarded by mu
	types  []string // guarded by mu: types of the received notifications
	ids    []string // guarded by mu: event_ids of the received notifications
}

// newWebhookReceiver sends the first partner's notifications to a new receiver, which responds with 200.
func (f *fixture) newWebhookReceiver() *webhookReceiver {
	f.t.Helper()
	s := newReceiver(f.t)
	f.directory.AllowPrivateAddresses(true)
	f.admin().patch("/api/v1/partners/1", `{"notify_url":"`+s.URL+`/hook","secret":"whsec"}`).want(200, "")
	return s
}

// newReceiver starts a receiver that responds with 200.
func newReceiver(t testing.TB) *webhookReceiver {
	t.Helper()
	s := &webhookReceiver{status: http.StatusOK}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var notification struct {
			ID   string `json:"event_id"`
			Type string `json:"type"`
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &notification)
		}
		if err != nil {
			t.Errorf("a notification: %v", err)
		}
		if err := described.checker.CheckNotification(r.Header, body); err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ids, s.types = append(s.ids, notification.ID), append(s.types, notification.Type)
		w.WriteHeader(s.status)
	}))
	t.Cleanup(s.Close)
	return s
}

// answerWith sets the status of the receiver's responses from now on.
func (r *webhookReceiver) answerWith(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// received returns the event_ids and the types of the received notifications.
func (r *webhookReceiver) received() (ids, types []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.ids), slices.Clone(r.types)
}

// count returns how many notifications were received.
func (r *webhookReceiver) count() int {
	ids, _ := r.received()
	return len(ids)
}

// waitForDeliveries returns after all due deliveries were attempted and the attempts are stored.
func (f *fixture) waitForDeliveries() {
	f.t.Helper()
	f.advance(1)
}

// parkAll advances the clock beyond the last attempt of every waiting delivery. If all attempts of a delivery fail, the delivery
// is then parked (given up).
func (f *fixture) parkAll() {
	f.t.Helper()
	f.advance(8 * 3600)
}

// listedIDs returns the event_ids on all pages of the list of deliveries, in order.
func (f *fixture) listedIDs(query string) (ids []string) {
	f.t.Helper()
	for cursor := ""; cursor != "null"; {
		more := ""
		if cursor != "" {
			more = "&cursor=" + url.QueryEscape(cursor)
		}
		r := f.admin().get(deliveriesPath+"?"+query+more).want(200, "")
		for _, row := range r.object()["data"].([]any) {
			ids = append(ids, row.(map[string]any)["event_id"].(string))
		}
		cursor = r.at("cursor.cursor_value")
	}
	return ids
}

// wantListed checks the event_ids on all pages of the list.
func (f *fixture) wantListed(query string, want ...string) {
	f.t.Helper()
	if got := f.listedIDs(query); strings.Join(got, " ") != strings.Join(want, " ") {
		f.t.Errorf("%s lists\n\t%v, want\n\t%v", query, got, want)
	}
}

// deliveryAbout returns the event_id of the newest delivery about a transaction.
func (f *fixture) deliveryAbout(transactionID string) string {
	f.t.Helper()
	return f.admin().get(deliveriesPath+"?transaction_id="+transactionID).want(200, "").at("data.0.event_id")
}

// newSlowReceiver returns the address of a receiver of notifications. At each request it sends to the channel arrived, and it
// responds once the channel release is closed.
func newSlowReceiver(t testing.TB, arrived, release chan struct{}) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	t.Cleanup(s.Close)
	return s.URL
}
