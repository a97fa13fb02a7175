package webhook

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"mizan/internal/clock"
)

// The envelope and its signatures, made by another program (Python's hmac).
const (
	expectedEnvelope = `{"event_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","timestamp":1788430530,"type":"transaction.charged",` +
		`"data":{"type":"payment","txid":"a \"b\"","id":"3","amount":"1000","merchant_meta":{"k":[1,null]}}}`
	expectedSignature         = "3db9063c90f0747d0bbbe3c2c156679b9454b46b6acc791295086e4b8d6a4c4e" // with "whsec-é-new"
	expectedPreviousSignature = "81d45702d4fce4f665adc41a9858d14d5fd49957c59d642cd09f060ce62d27c9" // with "whsec-old"
)

func signedDelivery(url string) *Delivery {
	return &Delivery{
		URL: url, Secret: "whsec-é-new", Previous: "whsec-old", EventID: "0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5", Type: "transaction.charged",
		Data: []byte(`{"type":"payment","txid":"a \"b\"","id":"3","amount":"1000","merchant_meta":{"k":[1,null]}}`),
	}
}

// signatures returns a request's headers that begin with x-webhook-.
func (s seen) signatures() map[string]string {
	found := make(map[string]string)
	for name, values := range s.header {
		if name := strings.ToLower(name); strings.HasPrefix(name, "x-webhook-") {
			found[name] = strings.Join(values, "|")
		}
	}
	return found
}

// The envelope and the signature headers are those that another program has made.
func TestAnEnvelopeIsFormedAndSigned(t *testing.T) {
	t.Parallel()
	r := receive(t, acknowledge)
	c := open(t)
	c.Deliver(signedDelivery(r.url()+"/a%20b?k=v&k=w%2F")).want(t, 200, "")
	got := r.requests()[0]
	if got.method != "POST" || got.target != "/hook/a%20b?k=v&k=w%2F" || got.host != r.l.Addr().String() || got.body != expectedEnvelope {
		t.Errorf("%s %s at %s\n%s", got.method, got.target, got.host, got.body)
	}
	if got.header.Get("content-type") != "application/json" || got.header.Get("user-agent") != userAgent {
		t.Errorf("headers %v", got.header)
	}
	want := map[string]string{
		"x-webhook-event-id": "0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5", "x-webhook-timestamp": "1788430530",
		"x-webhook-signature": expectedSignature, "x-webhook-signature-previous": expectedPreviousSignature,
	}
	if fmt.Sprint(got.signatures()) != fmt.Sprint(want) {
		t.Errorf("signed %v, want %v", got.signatures(), want)
	}
}

func TestWithoutAPreviousSecretThereIsOneSignature(t *testing.T) {
	t.Parallel()
	r := receive(t, acknowledge)
	p := signedDelivery(r.url())
	p.Previous = ""
	open(t).Deliver(p).want(t, 200, "")
	if got := r.requests()[0].signatures(); len(got) != 3 || got["x-webhook-signature"] != expectedSignature {
		t.Errorf("signed %v", got)
	}
}

func TestWithoutASecretThereAreNoSignatureHeaders(t *testing.T) {
	t.Parallel()
	r := receive(t, acknowledge)
	p := signedDelivery(r.url())
	p.Secret = "" // the previous secret alone signs nothing
	open(t).Deliver(p).want(t, 200, "")
	if got := r.requests()[0]; len(got.signatures()) != 0 || got.body != expectedEnvelope {
		t.Errorf("signed %v\n%s", got.signatures(), got.body)
	}
}

func TestEachAttemptHasItsOwnEnvelope(t *testing.T) {
	t.Parallel()
	receiver := receive(t, answer("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"))
	manualClock := clock.NewManual(startTime)
	c := open(t, func(s *settings) { s.options.Clock = manualClock })
	p := signedDelivery(receiver.url())
	signatures := make(map[string]bool)
	for i := range 3 {
		at := startTime.Add(time.Duration(i) * 30 * time.Second)
		if err := manualClock.Set(at); err != nil {
			t.Fatal(err)
		}
		a := c.Deliver(p)
		a.want(t, 503, "status 503")
		if !a.At.Equal(at) {
			t.Errorf("the attempt was at %v, want %v", a.At, at)
		}
		got := receiver.requests()[i]
		stamp := fmt.Sprint(at.Unix())
		if got.header.Get("x-webhook-timestamp") != stamp || !strings.Contains(got.body, `"timestamp":`+stamp+`,`) ||
			got.header.Get("x-webhook-event-id") != p.EventID || !strings.HasPrefix(got.body, `{"event_id":"`+p.EventID+`",`) {
			t.Errorf("attempt %d: %v\n%s", i, got.header, got.body)
		}
		signatures[got.header.Get("x-webhook-signature")] = true
	}
	if len(signatures) != 3 {
		t.Errorf("%d signatures of 3 attempts", len(signatures))
	}
}

func TestURLMayHaveNoPath(t *testing.T) {
	t.Parallel()
	r := receive(t, acknowledge)
	c := open(t)
	bare := "http://" + r.l.Addr().String()
	for _, url := range []string{bare, bare + "/", bare + "?k=v"} {
		c.Deliver(testDelivery(url)).want(t, 200, "")
	}
	var targets []string
	for _, s := range r.requests() {
		targets = append(targets, s.target)
	}
	if got := strings.Join(targets, " "); got != "/ / /?k=v" {
		t.Errorf("asked for %s", got)
	}
}

func TestAnAddressThatBreaksTheRequestIsNotUsed(t *testing.T) {
	t.Parallel()
	r := receive(t, acknowledge)
	c := open(t)
	at := r.l.Addr().String()
	for _, url := range []string{
		"", "/hook", "ftp://" + at + "/", "http://", "http:///x", "http://u:p@" + at + "/", "http://u@" + at + "/", at,
		"http://" + at + "/?a b", "http://" + at + "/?a\r\nx: y", "http://" + at + "/\x00", "http://" + at + "/?\xff", "http://exämple.test/", "http://[::1/", "http://" + at + "x/",
	} {
		c.Deliver(testDelivery(url)).want(t, 0, "address not usable")
	}
	if n := r.connections(); n != 0 {
		t.Errorf("%d connections came", n)
	}
}

func TestEventThatNeedsQuotingPanics(t *testing.T) {
	t.Parallel()
	sender := open(t)
	for _, change := range []func(*Delivery){
		func(p *Delivery) { p.EventID = "" }, func(p *Delivery) { p.EventID = "a\r\nb" }, func(p *Delivery) { p.Type = `a"b` }, func(p *Delivery) { p.Type = "é" },
	} {
		p := testDelivery("http://127.0.0.1:9/")
		change(p)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q %q was taken", p.EventID, p.Type)
				}
			}()
			sender.Deliver(p)
		}()
	}
	r := receive(t, acknowledge)
	sender.Deliver(testDelivery(r.url())).want(t, 200, "") // the panic has released its place
}

// In this test the URL's path and query, the data, the secrets and the headers contain private text.
func TestFailuresAndLogsContainNothingPrivate(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	sender := open(t, func(s *settings) {
		s.options.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	var texts strings.Builder
	for _, says := range []string{acknowledged, "CANARY answer\r\n\r\n", "HTTP/1.1 200 CANARY\r\nCANARY\r\n\r\n", "HTTP/1.1 302 F\r\nLocation: http://CANARY/\r\n\r\n", "HTTP/1.1 200 OK\r\nCANARY: ", ""} {
		r := receive(t, once(says))
		p := &Delivery{URL: r.url() + "/CANARY?CANARY=CANARY", Secret: "CANARY", Previous: "CANARY", EventID: "e-1", Type: "t", Data: []byte(`{"x":"CANARY"}`)}
		fmt.Fprintf(&texts, "%+v %v %#v %s\n", sender.Deliver(p), *p, p, p)
	}
	for _, url := range []string{"http://name.invalid/CANARY", "http://CANARY:CANARY@x/", "%CANARY", "https://127.0.0.1:9/CANARY"} {
		p := &Delivery{URL: url, Secret: "CANARY", EventID: "e-1", Type: "t", Data: []byte(`{"x":"CANARY"}`)}
		fmt.Fprintf(&texts, "%+v %v\n", sender.Deliver(p), p)
	}
	slog.New(slog.NewTextHandler(&log, nil)).Info("parcel", "parcel", testDelivery("http://CANARY/"))
	if got := texts.String() + log.String(); strings.Contains(got, "CANARY") || !strings.Contains(got, "parcel e-1") {
		t.Error(got)
	}
}
