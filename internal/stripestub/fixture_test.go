package stripestub

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mizan/internal/clock"
)

var startTime = time.Date(2026, 9, 3, 12, 0, 0, 0, time.UTC)

// fixture is a stub with a manual clock, and a client of its API that knows nothing of Stripe but HTTP.
type fixture struct {
	*Stub
	t        *testing.T
	clock    *clock.Manual
	answered []reply // all answers
}

func start(t *testing.T, options Options) *fixture {
	t.Helper()
	manual := clock.NewManual(startTime)
	options.Clock = manual
	return &fixture{Stub: New(t, options), t: t, clock: manual}
}

// advance moves the clock.
func (f *fixture) advance(d time.Duration) {
	f.t.Helper()
	if err := f.clock.Set(f.clock.Now().Add(d)); err != nil {
		f.t.Fatal(err)
	}
}

// reply is an answer; status 0 means that none arrived.
type reply struct {
	t            *testing.T
	method, path string
	status       int
	header       http.Header
	body         []byte
	json         object
	err          error
}

// post sends a form: pairs of name and value, written as in a query but without escapes. A header is NAME: VALUE.
func (f *fixture) post(path, form string, headers ...string) reply {
	return f.send(http.MethodPost, path, form, headers)
}

func (f *fixture) get(path, query string) reply { return f.send(http.MethodGet, path, query, nil) }

// parse parses pairs such as a=b&c=d, in which only & and = are special.
func parse(form string) url.Values {
	values := make(url.Values)
	for pair := range strings.SplitSeq(form, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			values.Add(name, value)
		}
	}
	return values
}

func (f *fixture) send(method, path, form string, headers []string) reply {
	f.t.Helper()
	r := f.try(method, path, form, headers)
	if r.err != nil {
		f.t.Fatal(r.err)
	}
	return r
}

// try sends a request that may get no answer.
func (f *fixture) try(method, path, form string, headers []string) reply {
	address, body := f.URL+path, ""
	if encoded := parse(form).Encode(); method == http.MethodGet {
		address += "?" + encoded
	} else {
		body = encoded
	}
	request, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+DefaultSecretKey)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}
	r := reply{t: f.t, method: method, path: path}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.err = err
		return r
	}
	defer response.Body.Close()
	r.status, r.header = response.StatusCode, response.Header
	if r.body, r.err = io.ReadAll(response.Body); r.err == nil {
		_ = json.Unmarshal(r.body, &r.json)
		f.answered = append(f.answered, r)
	}
	return r
}

// at returns the value at a path of names with dots between them; a number stands for a row of a list.
func (r reply) at(path string) any {
	var value any = r.json
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case object:
			value = v[name]
		case []any:
			if i := int(name[0] - '0'); i < len(v) {
				value = v[i]
			} else {
				value = nil
			}
		default:
			return nil
		}
	}
	return value
}

func (r reply) text(path string) string {
	text, _ := r.at(path).(string)
	return text
}

func (r reply) id() string { return r.text("id") }

// expect checks the status and pairs of a path and its value. Numbers are float64 in JSON, so they are compared as such.
func (r reply) expect(status int, pairs ...any) reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%s %s answered %d, want %d: %s", r.method, r.path, r.status, status, r.body)
	}
	for i := 0; i < len(pairs); i += 2 {
		want := pairs[i+1]
		if n, ok := want.(int); ok {
			want = float64(n)
		}
		if got := r.at(pairs[i].(string)); got != want {
			r.t.Errorf("%s %s: %s is %v, want %v: %s", r.method, r.path, pairs[i], got, want, r.body)
		}
	}
	return r
}

// pay makes a payment that has succeeded.
func (f *fixture) pay(method, amount, currency, reference string) reply {
	f.t.Helper()
	return f.post("/v1/payment_intents", "amount="+amount+"&currency="+currency+"&payment_method_types[]=card&confirm=true&payment_method="+method+"&metadata[reference]="+reference).
		expect(200, "status", "succeeded")
}

// check checks that no money has moved twice.
func (f *fixture) check() {
	f.t.Helper()
	if err := f.Check(); err != nil {
		f.t.Error(err)
	}
}
