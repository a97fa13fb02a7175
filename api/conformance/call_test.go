package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mizan/internal/testkit"
)

// URL paths that most tests request.
const (
	v1           = "/api/v1"
	transactions = v1 + "/transactions"
)

// caller sends requests with its headers, for one test.
type caller struct {
	t      testing.TB
	client *testkit.Client
}

// response is an HTTP response that was read to its end.
type response struct {
	t      testing.TB
	status int
	header http.Header
	body   string
	called string // method and path of the request, for failure messages
}

func anyone(t testing.TB) caller {
	t.Helper()
	testServer(t)
	return caller{t, sandbox.base}
}

// with returns the caller with other headers, as name, value pairs; an empty value removes one.
func (c caller) with(pairs ...string) caller { return caller{c.t, c.client.With(pairs...)} }

func keyed(t testing.TB, key, org string) caller {
	t.Helper()
	return anyone(t).with("x-api-key", key, "x-organization-id", org)
}

func bearer(t testing.TB, token string) caller {
	t.Helper()
	return anyone(t).with("authorization", "Bearer "+token, "x-organization-id", testServer(t).Sandbox.OrganizationID)
}

// admin returns a caller with the admin token, for the first organization.
func admin(t testing.TB) caller { t.Helper(); return bearer(t, testServer(t).Sandbox.AdminToken) }

// auditor returns a caller with the first organization's auditor token.
func auditor(t testing.TB) caller { t.Helper(); return bearer(t, testServer(t).Sandbox.AuditorToken) }

// secondPartner returns a caller with the key of the second organization's partner.
func secondPartner(t testing.TB) caller {
	t.Helper()
	s := testServer(t).Sandbox.Second
	return keyed(t, s.APIKey, s.OrganizationID)
}

// do makes a request. A string is sent as it is, any other body as JSON; nil is no body.
func (c caller) do(method, path string, body any) *response {
	c.t.Helper()
	got, err := c.client.Do(method, path, body)
	if err != nil {
		// This is Errorf and not Fatalf, because do may run in another goroutine than the test.
		c.t.Errorf("%s %s: %v\n%s", method, path, err, sandbox.server.Stderr())
		return &response{t: c.t, called: method + " " + path}
	}
	if quoted := quotedCard(string(got.Body)); quoted != "" {
		c.t.Errorf("%s %s answers with the card number %s", method, path, quoted)
	}
	return &response{c.t, got.Status, got.Header, string(got.Body), method + " " + path}
}

// quotedCard returns a card number of these tests if the text contains one, else "".
func quotedCard(text string) string {
	for _, number := range canaries {
		if strings.Contains(text, number) {
			return number
		}
	}
	return ""
}

func (c caller) get(path string) *response            { c.t.Helper(); return c.do("GET", path, nil) }
func (c caller) post(path string, body any) *response { c.t.Helper(); return c.do("POST", path, body) }
func (c caller) put(path string, body any) *response  { c.t.Helper(); return c.do("PUT", path, body) }
func (c caller) patch(path string, body any) *response {
	c.t.Helper()
	return c.do("PATCH", path, body)
}

// want ends the test if the response has another status.
func (r *response) want(status int) *response {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%s responded %d %s, want %d", r.called, r.status, r.body, status)
	}
	return r
}

// wantBody ends the test if the response is not exactly this one.
func (r *response) wantBody(status int, body string) *response {
	r.t.Helper()
	if r.status != status || r.body != body {
		r.t.Fatalf("%s responded %d %s, want %d %s", r.called, r.status, r.body, status, body)
	}
	return r
}

// value finds a value in the response's JSON by its path of names and indexes, for example "data.0.id".
func (r *response) value(path string) (value any, exists bool) {
	r.t.Helper()
	numbers := json.NewDecoder(bytes.NewReader([]byte(r.body)))
	numbers.UseNumber()
	if err := numbers.Decode(&value); err != nil {
		r.t.Fatalf("%s responded %d %q: %v", r.called, r.status, r.body, err)
	}
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			if value, exists = v[name]; !exists {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// absent is the result of at for a missing value.
const absent = "(absent)"

// at returns the value at a path of the response's JSON: the content of a string, or the JSON of any other value. If there is no
// value, it returns absent.
func (r *response) at(path string) string {
	r.t.Helper()
	value, there := r.value(path)
	if !there {
		return absent
	}
	if text, ok := value.(string); ok {
		return text
	}
	return r.rawAt(path)
}

// rawAt returns the JSON of a value, with a string's quotes.
func (r *response) rawAt(path string) string {
	r.t.Helper()
	value, there := r.value(path)
	if !there {
		return absent
	}
	var text strings.Builder
	plain := json.NewEncoder(&text)
	plain.SetEscapeHTML(false)
	if err := plain.Encode(value); err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(text.String())
}

// has checks the values at some paths, given as path, text pairs.
func (r *response) has(pairs ...string) *response {
	r.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := r.at(pairs[i]); got != pairs[i+1] {
			r.t.Errorf("%s: %s = %s, want %s", r.called, pairs[i], got, pairs[i+1])
		}
	}
	return r
}

// time returns the time at a path.
func (r *response) time(path string) time.Time {
	r.t.Helper()
	at, err := time.Parse(time.RFC3339Nano, r.at(path))
	if err != nil {
		r.t.Fatalf("%s: %s: %v", r.called, path, err)
	}
	return at
}

// memberNames returns the names of an object's members.
func (r *response) memberNames(path string) map[string]bool {
	r.t.Helper()
	value, _ := r.value(path)
	if path == "" {
		if err := json.Unmarshal([]byte(r.body), &value); err != nil {
			r.t.Fatal(err)
		}
	}
	object, ok := value.(map[string]any)
	if !ok {
		r.t.Fatalf("%s: %q is no object: %s", r.called, path, r.body)
	}
	names := make(map[string]bool, len(object))
	for name := range object {
		names[name] = true
	}
	return names
}

// column returns one value of each row of a list.
func (r *response) column(name string) []string {
	r.t.Helper()
	value, _ := r.value("data")
	rows, ok := value.([]any)
	if !ok {
		r.t.Fatalf("%s responded without rows: %s", r.called, r.body)
	}
	column := make([]string, len(rows))
	for i := range rows {
		column[i] = r.at(fmt.Sprintf("data.%d.%s", i, name))
	}
	return column
}

// refuses checks that the response is 422 with a single problem: the detail at the field.
func (r *response) refuses(field, detail string) *response {
	r.t.Helper()
	return r.want(422).has("errors.0.field", field, "errors.0.detail", detail, "errors.1", absent)
}

// matches checks that the value at a path matches a pattern.
func (r *response) matches(path string, pattern *regexp.Regexp) *response {
	r.t.Helper()
	if got := r.at(path); !pattern.MatchString(got) {
		r.t.Errorf("%s: %s = %s, want one like %s", r.called, path, got, pattern)
	}
	return r
}

// Patterns of values in responses.
var (
	uuid4   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`)
	digits  = regexp.MustCompile(`^[0-9]+$`)
)

// hasRaw checks the JSON of the values at some paths, given as path, JSON pairs.
func (r *response) hasRaw(pairs ...string) *response {
	r.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := r.rawAt(pairs[i]); got != pairs[i+1] {
			r.t.Errorf("%s: %s = %s, want %s", r.called, pairs[i], got, pairs[i+1])
		}
	}
	return r
}

// hasHeader checks a header; the value absent means that it must be missing.
func (r *response) hasHeader(name, want string) *response {
	r.t.Helper()
	got := absent
	if values := r.header.Values(name); len(values) > 0 {
		got = strings.Join(values, ", ")
	}
	if got != want {
		r.t.Errorf("%s: header %s = %s, want %s", r.called, name, got, want)
	}
	return r
}
