package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mizan/ledger/payment"
)

// knownParameters are the parameters that the list of transactions accepts, written by hand.
var knownParameters = strings.Fields(`status type env limit cursor started_from started_to updated_from updated_to finished_from finished_to
	amount_from amount_to order_by rrn link_id start_cursor end_cursor txid`)

// FuzzListQuery sends arbitrary queries to a server. The server must respond with a page, or refuse the query and name the wrong
// parameters.
func FuzzListQuery(f *testing.F) {
	for _, query := range []string{
		"", "limit=5&order_by=updated", "limit=0", "status=charged&type=payment&env=prod", "cursor=2026-09-03T10:15:30.123456%2B00:00", "page=1&offset=2",
		"started_from=2026-09-03T10:15:30+00:00&started_to=2026-09-03%2010:15:30.5%20Etc/UTC", "start_cursor=9999-12-31T23:59:59Z&end_cursor=0000-01-01T00:00:00Z",
		"finished_to=2026-09-03T10:15:30.123456Z", "amount_from=0&amount_to=" + strings.Repeat("9", 77), "link_id=0f8fad5b-d9cb-469f-a165-70867728950e&rrn=123456789012",
		"%ff=%00&=&&==&txid=%F0%9D%84%9E", "limit=%31&limit=1", "updated_to=2026-09-03T10:15:30.9999999Z&updated_from=1969-12-31T23:59:59.9999999Z", "group_by=day",
	} {
		f.Add(query)
	}
	fixture := newFixture(f)
	for _, status := range []payment.Status{payment.Charged, payment.Rejected, payment.Charging} {
		fixture.storeVersion(0, 3, newPayment("7", status), newPayment("70", status))
	}
	f.Fuzz(func(t *testing.T, query string) {
		if len(query) > 4_096 || strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' }) {
			t.Skip("no target of a request")
		}
		for _, path := range []string{transactions, aggregate, balancesPath} {
			status, body := fixture.sendQuery(t, path, query)
			if !json.Valid(body) || status != 200 && status != 422 {
				t.Fatalf("%s?%q: %d %s", path, query, status, body)
			}
			if status == 422 {
				checkRefusal(t, body)
			} else if path == transactions {
				checkPage(t, query, body)
			}
		}
	})
}

// sendQuery sends the query without escaping it.
func (f *fixture) sendQuery(t *testing.T, path, query string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequest("GET", "http://"+f.address+path, nil)
	must(t, err)
	r.URL.RawQuery = query
	for name, value := range f.partner().headers {
		r.Header.Set(name, value)
	}
	response, err := transport.RoundTrip(r)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, body
}

// checkRefusal checks that a refusal names at least one fault.
func checkRefusal(t *testing.T, body []byte) {
	t.Helper()
	var refusal struct {
		Errors []struct{ Code, Detail string }
	}
	must(t, json.Unmarshal(body, &refusal))
	for _, e := range refusal.Errors {
		if e.Code == "" || e.Detail == "" {
			t.Fatalf("%s", body)
		}
	}
	if len(refusal.Errors) == 0 {
		t.Fatalf("%s", body)
	}
}

// checkPage checks the page that the server has returned for a query.
func checkPage(t *testing.T, query string, body []byte) {
	t.Helper()
	if values, err := url.ParseQuery(query); err == nil {
		for name, arguments := range values {
			if name != "" && (!slices.Contains(knownParameters, name) || len(arguments) != 1) { // an argument without a name has no effect
				t.Fatalf("%q was taken: %s", query, body)
			}
		}
	}
	var page struct {
		Data   []struct{ ID string }
		Cursor struct {
			Field string  `json:"cursor_field"`
			Value *string `json:"cursor_value"`
		}
	}
	must(t, json.Unmarshal(body, &page))
	if len(page.Data) > 6 || page.Cursor.Field != "started" && page.Cursor.Field != "updated" || page.Cursor.Value != nil && len(page.Data) == 0 {
		t.Fatalf("%q: %s", query, body)
	}
}
