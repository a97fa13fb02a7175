package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	mizan "mizan/api/sdk/go"
)

// If the response to a create request is lost, the transaction may exist all the same. The shop must accept the notifications
// about it.
func TestANotificationFindsAnOrderWhoseCreateGotNoResponse(t *testing.T) {
	t.Parallel()
	var s *shop
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusNotImplemented) // a proxy might answer so; the client does not repeat the request
			return
		}
		_, _ = io.WriteString(w, `{"id":"`+strings.TrimPrefix(r.URL.Path, "/api/v1/transactions/")+`","txid":"`+s.latest[0].Number+`","amount":"690","currency":"EUR","status":"failed"}`)
	}))
	defer api.Close()
	client, err := mizan.New(mizan.Config{URL: api.URL, APIKey: "k", OrganizationID: "o"})
	if err != nil {
		t.Fatal(err)
	}
	s = &shop{client: client, orders: map[string]*order{}, events: map[string]bool{}}
	response := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "/checkout", strings.NewReader("tea=1"))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	s.handler().ServeHTTP(response, request)
	if response.Code != http.StatusBadGateway {
		t.Fatal(response.Code)
	}
	event := &mizan.TransactionEvent{EventID: "e-1", Data: mizan.TransactionEventData{ID: "t-1", TxID: s.latest[0].Number}}
	if err := s.process(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if state := s.latest[0].state; state.ID != "t-1" || state.Status != mizan.StatusFailed {
		t.Errorf("%+v", state)
	}
}
