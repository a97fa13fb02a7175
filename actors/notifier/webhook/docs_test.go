package webhook_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"mizan/actors/notifier/webhook"
)

// The secrets of these tests. currentSecret has a letter that is not ASCII.
const (
	currentSecret = "whsec-é-current"
	formerSecret  = "whsec-former"
)

// The headers of a signed notification.
const (
	eventIDHeader   = "x-webhook-event-id"
	timestampHeader = "x-webhook-timestamp"
	signatureHeader = "x-webhook-signature"
	previousHeader  = "x-webhook-signature-previous"
)

// newDelivery returns a delivery whose data would change if it were decoded and encoded again.
func newDelivery(id string) webhook.Delivery {
	return webhook.Delivery{
		Secret: currentSecret, EventID: id, Type: "transaction.charged",
		Data: []byte(`{"type":"payment", "txid":"заказ-№7 \u00e9\/é","id":"` + id + `","amount":"100000000000000000000","merchant_meta":{"n":1.0,"e":1e2,"n":"漢字 😀"}}`),
	}
}

// TestDocumentationsReceivers tries each receiver of docs/webhooks.md against the sender.
func TestDocumentationsReceivers(t *testing.T) {
	t.Parallel()
	for i := range languages {
		t.Run(languages[i].name, func(t *testing.T) {
			t.Parallel()
			r := languages[i].save(t)
			for name, check := range map[string]func(t *testing.T, r *receiver){
				"genuine events are stored unchanged":     storesGenuineEvents,
				"what was changed on the way is refused":  refusesTamperedEvents,
				"a timestamp five minutes off is refused": refusesOldAndFutureEvents,
				"a timestamp is digits and nothing else":  refusesInvalidTimestamps,
				"a signature is 64 digits":                refusesInvalidSignatures,
				"what is not signed is refused":           refusesUnsignedEvents,
				"both secrets count while they rotate":    acceptsBothSecrets,
				"without a secret nothing is accepted":    acceptsNothingWithoutASecret,
				"an event is kept once":                   storesAnEventOnce,
				"only stored events are acknowledged":     acknowledgesOnlyStoredEvents,
				"subscription events only leave a mark":   marksSubscriptionEvents,
				"other requests are refused":              refusesOtherRequests,
				"a notification can be made by hand":      acceptsHandmadeRequests,
			} {
				t.Run(name, func(t *testing.T) { check(t, r) })
			}
		})
	}
}

func storesGenuineEvents(t *testing.T, r *receiver) {
	server := r.mustStart(t, currentSecret, "")
	d := newDelivery("e-1")
	at := time.Now()
	if got := server.deliver(d, at, nil); got != http.StatusOK {
		t.Errorf("answered %d", got)
	}
	want := fmt.Sprintf(`{"event_id":"e-1","timestamp":%d,"type":"transaction.charged","data":%s}`, at.Unix(), d.Data)
	if bodies, _ := server.storedBodies(); len(bodies) != 1 || bodies[0] != want {
		t.Errorf("kept %q, want %q", bodies, want)
	}
	for name, offset := range map[string]time.Duration{"early": -3 * time.Minute, "late": 3 * time.Minute} {
		if got := server.deliver(newDelivery(name), time.Now().Add(offset), nil); got != http.StatusOK {
			t.Errorf("%v off: answered %d", offset, got)
		}
	}
	server.wantStored("three events", 3)
}

// wantRefused checks that a delivery is answered 401 and stores nothing.
func (s *server) wantRefused(what string, d webhook.Delivery, at time.Time, change tampering) {
	s.t.Helper()
	if got := s.deliver(d, at, change); got != http.StatusUnauthorized {
		s.t.Errorf("%s: answered %d", what, got)
	}
	s.wantStored(what, 0)
}

func refusesTamperedEvents(t *testing.T, r *receiver) {
	server := r.mustStart(t, currentSecret, formerSecret)
	for what, change := range map[string]func(body string) string{
		"an amount":          func(body string) string { return strings.Replace(body, `"amount":"1`, `"amount":"9`, 1) },
		"a letter's form":    func(body string) string { return strings.Replace(body, `\u00e9`, "é", 1) },
		"an escape":          func(body string) string { return strings.Replace(body, `\/`, "/", 1) },
		"a space":            func(body string) string { return strings.Replace(body, `", "`, `","`, 1) },
		"a line's end":       func(body string) string { return body + "\n" },
		"a byte order mark":  func(body string) string { return strings.Replace(body, "№", "\ufeff", 1) },
		"another event's id": func(body string) string { return strings.Replace(body, `"event_id":"e-1"`, `"event_id":"e-2"`, 1) },
	} {
		server.wantRefused(what, newDelivery("e-1"), time.Now(), func(_ http.Header, body []byte) []byte {
			changed := change(string(body))
			if changed == string(body) {
				t.Errorf("%s: nothing has changed", what)
			}
			return []byte(changed)
		})
	}
	breakUTF8 := func(_ http.Header, body []byte) []byte { return []byte(strings.Replace(string(body), "é", "\xe9", 1)) }
	if got := server.deliver(newDelivery("e-1"), time.Now(), breakUTF8); got != http.StatusUnauthorized && got != http.StatusBadRequest {
		t.Errorf("what is no UTF-8: answered %d", got)
	}
	server.wantStored("what is no UTF-8", 0)
	server.wantRefused("the timestamp", newDelivery("e-1"), time.Now(), func(header http.Header, body []byte) []byte {
		timestamp, err := strconv.ParseInt(header.Get(timestampHeader), 10, 64)
		if err != nil {
			t.Error(err)
		}
		header.Set(timestampHeader, strconv.FormatInt(timestamp+1, 10))
		return body
	})
}

func refusesOldAndFutureEvents(t *testing.T, r *receiver) {
	s := r.mustStart(t, currentSecret, "")
	for _, offset := range []time.Duration{-301 * time.Second, -6 * time.Minute, -365 * 24 * time.Hour, time.Hour, 365 * 24 * time.Hour} {
		s.wantRefused(offset.String(), newDelivery("e-1"), time.Now().Add(offset), nil)
	}
	s.wantRefused("the first second of all", newDelivery("e-1"), time.Unix(0, 0), nil)
}

// signAgainWith puts another timestamp into the delivery's header and signs the delivery for it.
func signAgainWith(changeTimestamp func(old string) string) tampering {
	return func(header http.Header, body []byte) []byte {
		changed := changeTimestamp(header.Get(timestampHeader))
		header.Set(timestampHeader, changed)
		header.Set(signatureHeader, sign(currentSecret, changed, body))
		return body
	}
}

func refusesInvalidTimestamps(t *testing.T, r *receiver) {
	server := r.mustStart(t, currentSecret, "")
	for _, form := range []string{"+%s", "-%s", "%s.0", "%s.", "%se0", "0x%s", "%s, %[1]s", "%s;", "0000000000%s", "%s\u00a0", "%.0sNaN", "%.0sInfinity", "%.0s", "%.0snow"} {
		server.wantRefused(form, newDelivery("e-1"), time.Now(), signAgainWith(func(old string) string { return fmt.Sprintf(form, old) }))
	}
	server.wantRefused("digits of another script", newDelivery("e-1"), time.Now(), signAgainWith(func(old string) string {
		return strings.Map(func(digit rune) rune { return digit - '0' + '٠' }, old)
	}))
	server.wantRefused("none", newDelivery("e-1"), time.Now(), func(header http.Header, body []byte) []byte {
		header.Del(timestampHeader)
		header.Set(signatureHeader, sign(currentSecret, "", body))
		return body
	})
	withEnvelopeTimestamp := func(timestamp string) tampering {
		return func(header http.Header, body []byte) []byte {
			body = regexp.MustCompile(`"timestamp":\d+`).ReplaceAll(body, []byte(`"timestamp":`+timestamp))
			header.Set(signatureHeader, sign(currentSecret, header.Get(timestampHeader), body))
			return body
		}
	}
	for _, timestamp := range []string{"1", "null", `"now"`, `{}`} { // signed correctly, but the header differs
		if got := server.deliver(newDelivery("e-1"), time.Now(), withEnvelopeTimestamp(timestamp)); got != http.StatusBadRequest {
			t.Errorf("an envelope's timestamp of %s: answered %d", timestamp, got)
		}
		server.wantStored(timestamp, 0)
	}
}

func refusesInvalidSignatures(t *testing.T, r *receiver) {
	server := r.mustStart(t, currentSecret, "")
	for what, change := range map[string]func(old string) string{
		"one digit less":          func(old string) string { return old[:63] },
		"one digit more":          func(old string) string { return old + "0" },
		"one digit":               func(old string) string { return old[:1] },
		"nothing":                 func(string) string { return "" },
		"64 digits":               func(string) string { return strings.Repeat("0", 64) },
		"64 letters":              func(string) string { return strings.Repeat("é", 64) },
		"64 bytes":                func(string) string { return strings.Repeat("\xe9", 64) },
		"32 letters of two bytes": func(string) string { return strings.Repeat("é", 32) },
		"with its algorithm":      func(old string) string { return "sha256=" + old },
		"twice":                   func(old string) string { return old + ", " + old },
	} {
		for _, name := range []string{signatureHeader, previousHeader} {
			server.wantRefused(what, newDelivery("e-1"), time.Now(), func(header http.Header, body []byte) []byte {
				changed := change(header.Get(signatureHeader))
				header.Del(signatureHeader)
				header.Set(name, changed)
				return body
			})
		}
	}
	d := newDelivery("e-1")
	d.Secret, d.PreviousSecret = "another", formerSecret
	server.wantRefused("others' secrets", d, time.Now(), nil)
}

func refusesUnsignedEvents(t *testing.T, r *receiver) {
	s := r.mustStart(t, currentSecret, formerSecret)
	d := newDelivery("e-1")
	d.Secret = ""
	s.wantRefused("no secret", d, time.Now(), nil)
	s.wantRefused("the signature is missing", newDelivery("e-1"), time.Now(), func(header http.Header, body []byte) []byte {
		header.Del(signatureHeader)
		return body
	})
	s.wantRefused("signed with nothing", d, time.Now(), signWithEmptySecret)
}

// signWithEmptySecret signs with the empty secret, as an attacker can if the receiver has no secret.
func signWithEmptySecret(header http.Header, body []byte) []byte {
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	body = regexp.MustCompile(`"timestamp":\d+`).ReplaceAll(body, []byte(`"timestamp":`+timestamp))
	header.Set(eventIDHeader, "e-1")
	header.Set(timestampHeader, timestamp)
	header.Set(signatureHeader, sign("", timestamp, body))
	return body
}

// The cases are the steps of a rotation. Each has the secrets that the receiver has at that time, and those with
// which the service signs.
func acceptsBothSecrets(t *testing.T, r *receiver) {
	const otherSecret = "whsec-other"
	for _, c := range []struct {
		secret, previous               string // secrets of the receiver
		signingSecret, signingPrevious string // secrets with which the service signs
		status                         int
	}{
		{formerSecret, "", formerSecret, "", 200},
		{formerSecret, "", currentSecret, formerSecret, 200},
		{formerSecret, "", currentSecret, "", 401},
		{currentSecret, formerSecret, formerSecret, "", 200},
		{currentSecret, formerSecret, currentSecret, formerSecret, 200},
		{currentSecret, formerSecret, currentSecret, "", 200},
		{currentSecret, formerSecret, otherSecret, "", 401},
		{currentSecret, "", currentSecret, formerSecret, 200},
		{currentSecret, "", formerSecret, "", 401},
		{currentSecret, "", otherSecret, formerSecret, 401},
		{"", formerSecret, formerSecret, "", 200},
	} {
		s := r.mustStart(t, c.secret, c.previous)
		d := newDelivery("e-1")
		d.Secret, d.PreviousSecret = c.signingSecret, c.signingPrevious
		if got := s.deliver(d, time.Now(), nil); got != c.status {
			t.Errorf("%+v: answered %d", c, got)
		}
		s.wantStored(fmt.Sprintf("%+v", c), map[int]int{200: 1, 401: 0}[c.status])
	}
}

func acceptsNothingWithoutASecret(t *testing.T, r *receiver) {
	s := r.start(t, "", "")
	if s.url == "" {
		return // the receiver does not even start
	}
	d := newDelivery("e-1")
	d.Secret = ""
	for _, change := range []tampering{nil, signWithEmptySecret} {
		if got := s.deliver(d, time.Now(), change); got < 400 {
			t.Errorf("answered %d", got)
		}
	}
	s.wantStored("no secret", 0)
}

func storesAnEventOnce(t *testing.T, r *receiver) {
	server := r.mustStart(t, currentSecret, "")
	firstTime := time.Now().Add(-time.Minute)
	for i := range 3 {
		if got := server.deliver(newDelivery("e-1"), firstTime.Add(time.Duration(i)*30*time.Second), nil); got != http.StatusOK {
			t.Errorf("answered %d", got)
		}
	}
	if bodies, _ := server.storedBodies(); len(bodies) != 1 || !strings.Contains(bodies[0], fmt.Sprintf(`"timestamp":%d,`, firstTime.Unix())) {
		t.Errorf("kept %q, want the first", bodies)
	}
	changeEventID := func(header http.Header, body []byte) []byte {
		header.Set(eventIDHeader, "e-2") // the signature does not cover this header
		return body
	}
	if got := server.deliver(newDelivery("e-1"), time.Now(), changeEventID); got != http.StatusOK {
		t.Errorf("another header: answered %d", got)
	}
	server.wantStored("another header", 1)

	answers := make(chan int)
	for range 8 {
		go func() { answers <- server.deliver(newDelivery("e-3"), time.Now(), nil) }()
	}
	for range 8 {
		if got := <-answers; got != http.StatusOK {
			t.Errorf("at once: answered %d", got)
		}
	}
	server.wantStored("at once", 2)
	if got := server.deliver(newDelivery("E-3"), time.Now(), nil); got != http.StatusOK {
		t.Errorf("another event: answered %d", got)
	}
	server.wantStored("another event", 3)
}

func acknowledgesOnlyStoredEvents(t *testing.T, r *receiver) {
	server := r.mustStart(t, currentSecret, "")
	if got := server.deliver(newDelivery("e-1"), time.Now(), nil); got != http.StatusOK {
		t.Errorf("answered %d", got)
	}
	if err := os.RemoveAll(server.inbox); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(server.inbox, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := server.deliver(newDelivery("e-2"), time.Now(), nil); got != http.StatusInternalServerError {
		t.Errorf("without an inbox: answered %d", got)
	}
	if err := os.Remove(server.inbox); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(server.inbox, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := server.deliver(newDelivery("e-2"), time.Now(), nil); got != http.StatusOK {
		t.Errorf("with one again: answered %d", got)
	}
	server.wantStored("with one again", 1)
}

// Notifications about subscriptions are sent to the same address, without envelope and signature.
func marksSubscriptionEvents(t *testing.T, r *receiver) {
	server := r.mustStart(t, currentSecret, "")
	body := strings.TrimSuffix(codeBlock(t, "example: subscription"), "\n")
	d := webhook.Delivery{WithoutEnvelope: true, Secret: currentSecret, Data: []byte(body)}
	if _, marked := server.storedBodies(); marked {
		t.Error("marked from the beginning")
	}
	for range 2 {
		if got := server.deliver(d, time.Now(), nil); got != http.StatusOK {
			t.Errorf("answered %d", got)
		}
	}
	if bodies, marked := server.storedBodies(); len(bodies) != 0 || !marked {
		t.Errorf("kept %q, marked %v", bodies, marked)
	}
	d.Data = []byte(`{"event_id":"e-1",` + body[1:])
	server.wantRefused("with an event_id", d, time.Now(), nil)
}

func refusesOtherRequests(t *testing.T, r *receiver) {
	server := r.mustStart(t, currentSecret, "")
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	for _, body := range []string{
		"", "{", "null", "1", `"event_id"`, "[]", `["event_id"]`, "{}", `{"Event":1}`, "a=b", "\xff", strings.Repeat("[", 200_000),
		`{"event_id":null,"timestamp":` + timestamp + `}`, `{"event_id":7,"timestamp":` + timestamp + `}`, `{"event_id":"","timestamp":` + timestamp + `}`,
		`{"event_id":["e-1"],"timestamp":` + timestamp + `}`, `{"event_id":"e-1"}`,
	} {
		header := http.Header{"Content-Type": {"application/json"}}
		header.Set(timestampHeader, timestamp)
		header.Set(signatureHeader, sign(currentSecret, timestamp, []byte(body)))
		if got := server.sendRequest(http.MethodPost, header, []byte(body)); got != http.StatusBadRequest {
			t.Errorf("%.40q: answered %d", body, got)
		}
	}
	if got := server.sendRequest(http.MethodGet, http.Header{}, nil); got != http.StatusMethodNotAllowed && got != http.StatusNotImplemented {
		t.Errorf("GET: answered %d", got)
	}
	huge := newDelivery("e-1")
	huge.Data = []byte(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
	if got := server.deliver(huge, time.Now(), func(_ http.Header, body []byte) []byte { return body }); got < 400 {
		t.Errorf("more than 1 MiB: answered %d", got)
	}
	server.wantStored("no notification", 0)
	if got := server.deliver(newDelivery("e-1"), time.Now(), nil); got != http.StatusOK {
		t.Errorf("after all that: answered %d", got)
	}
}

func acceptsHandmadeRequests(t *testing.T, r *receiver) {
	for _, tool := range []string{"sh", "curl", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the commands are not tried: there is no %s", tool)
		}
	}
	server := r.mustStart(t, currentSecret, "")
	script := codeBlock(t, "run: by hand")
	const example = "http://127.0.0.1:8080"
	if !strings.Contains(script, example) {
		t.Fatalf("no %s in\n%s", example, script)
	}
	command := exec.Command("sh", "-c", strings.ReplaceAll(script, example, server.url))
	command.Env = append(os.Environ(), "WEBHOOK_SECRET="+currentSecret)
	if out, err := command.CombinedOutput(); err != nil || string(out) != "200\n200\n401\n" {
		t.Errorf("%v\n%s", err, out)
	}
	server.wantStored("by hand", 1)
}
