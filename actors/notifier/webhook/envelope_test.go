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

// The envelope (the JSON object around the data) of signedDelivery and the envelope's signatures, made by another
// program (Python's hmac).
const (
	expectedEnvelope = `{"event_id":"0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5","timestamp":1788430530,"type":"transaction.charged",` +
		`"data":{"type":"payment","txid":"a \"b\"","id":"3","amount":"1000","merchant_meta":{"k":[1,null]}}}`
	expectedSignature         = "3db9063c90f0747d0bbbe3c2c156679b9454b46b6acc791295086e4b8d6a4c4e" // with "whsec-é-new"
	expectedPreviousSignature = "81d45702d4fce4f665adc41a9858d14d5fd49957c59d642cd09f060ce62d27c9" // with "whsec-old"
)

// signedDelivery returns a delivery with two secrets.
func signedDelivery(url string) *Delivery {
	return &Delivery{
		URL: url, Secret: "whsec-é-new", PreviousSecret: "whsec-old", EventID: "0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5", Type: "transaction.charged",
		Data: []byte(`{"type":"payment","txid":"a \"b\"","id":"3","amount":"1000","merchant_meta":{"k":[1,null]}}`),
	}
}

// signatureHeaders returns a request's headers that begin with x-webhook-.
func (s seenRequest) signatureHeaders() map[string]string {
	headers := make(map[string]string)
	for name, values := range s.header {
		if name := strings.ToLower(name); strings.HasPrefix(name, "x-webhook-") {
			headers[name] = strings.Join(values, "|")
		}
	}
	return headers
}

// The envelope and the signatures are those that another program has made.
func TestAnEnvelopeIsFormedAndSigned(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, acknowledge)
	sender := openSender(t)
	sender.Deliver(signedDelivery(r.url()+"/a%20b?k=v&k=w%2F")).want(t, 200, "")
	got := r.requests()[0]
	if got.method != "POST" || got.target != "/hook/a%20b?k=v&k=w%2F" || got.host != r.listener.Addr().String() || got.body != expectedEnvelope {
		t.Errorf("%s %s at %s\n%s", got.method, got.target, got.host, got.body)
	}
	if got.header.Get("content-type") != "application/json" || got.header.Get("user-agent") != userAgent {
		t.Errorf("headers %v", got.header)
	}
	want := map[string]string{
		"x-webhook-event-id": "0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5", "x-webhook-timestamp": "1788430530",
		"x-webhook-signature": expectedSignature, "x-webhook-signature-previous": expectedPreviousSignature,
	}
	if fmt.Sprint(got.signatureHeaders()) != fmt.Sprint(want) {
		t.Errorf("signed %v, want %v", got.signatureHeaders(), want)
	}
}

func TestWithoutAPreviousSecretThereIsOneSignature(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, acknowledge)
	d := signedDelivery(r.url())
	d.PreviousSecret = ""
	openSender(t).Deliver(d).want(t, 200, "")
	if got := r.requests()[0].signatureHeaders(); len(got) != 3 || got["x-webhook-signature"] != expectedSignature {
		t.Errorf("signed %v", got)
	}
}

func TestWithoutASecretThereAreNoSignatureHeaders(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, acknowledge)
	d := signedDelivery(r.url())
	d.Secret = "" // the previous secret alone signs nothing
	openSender(t).Deliver(d).want(t, 200, "")
	if got := r.requests()[0]; len(got.signatureHeaders()) != 0 || got.body != expectedEnvelope {
		t.Errorf("signed %v\n%s", got.signatureHeaders(), got.body)
	}
}

func TestEachAttemptHasItsOwnEnvelope(t *testing.T) {
	t.Parallel()
	receiver := startReceiver(t, answerWith("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"))
	manualClock := clock.NewManual(startTime)
	sender := openSender(t, func(s *settings) { s.options.Clock = manualClock })
	d := signedDelivery(receiver.url())
	signatures := make(map[string]bool)
	for i := range 3 {
		at := startTime.Add(time.Duration(i) * 30 * time.Second)
		if err := manualClock.Set(at); err != nil {
			t.Fatal(err)
		}
		a := sender.Deliver(d)
		a.want(t, 503, "status 503")
		if !a.At.Equal(at) {
			t.Errorf("the attempt was at %v, want %v", a.At, at)
		}
		got := receiver.requests()[i]
		timestamp := fmt.Sprint(at.Unix())
		if got.header.Get("x-webhook-timestamp") != timestamp || !strings.Contains(got.body, `"timestamp":`+timestamp+`,`) ||
			got.header.Get("x-webhook-event-id") != d.EventID || !strings.HasPrefix(got.body, `{"event_id":"`+d.EventID+`",`) {
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
	r := startReceiver(t, acknowledge)
	sender := openSender(t)
	base := "http://" + r.listener.Addr().String()
	for _, url := range []string{base, base + "/", base + "?k=v"} {
		sender.Deliver(testDelivery(url)).want(t, 200, "")
	}
	var targets []string
	for _, request := range r.requests() {
		targets = append(targets, request.target)
	}
	if got := strings.Join(targets, " "); got != "/ / /?k=v" {
		t.Errorf("asked for %s", got)
	}
}

func TestAnAddressThatBreaksTheRequestIsNotUsed(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, acknowledge)
	sender := openSender(t)
	hostPort := r.listener.Addr().String()
	for _, url := range []string{
		"", "/hook", "ftp://" + hostPort + "/", "http://", "http:///x", "http://u:p@" + hostPort + "/", "http://u@" + hostPort + "/", hostPort,
		"http://" + hostPort + "/?a b", "http://" + hostPort + "/?a\r\nx: y", "http://" + hostPort + "/\x00", "http://" + hostPort + "/?\xff", "http://exämple.test/", "http://[::1/", "http://" + hostPort + "x/",
	} {
		sender.Deliver(testDelivery(url)).want(t, 0, "address not usable")
	}
	if n := r.connections(); n != 0 {
		t.Errorf("%d connections came", n)
	}
}

func TestEventThatNeedsQuotingPanics(t *testing.T) {
	t.Parallel()
	sender := openSender(t)
	for _, change := range []func(*Delivery){
		func(d *Delivery) { d.EventID = "" }, func(d *Delivery) { d.EventID = "a\r\nb" }, func(d *Delivery) { d.Type = `a"b` }, func(d *Delivery) { d.Type = "é" },
	} {
		d := testDelivery("http://127.0.0.1:9/")
		change(d)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q %q was taken", d.EventID, d.Type)
				}
			}()
			sender.Deliver(d)
		}()
	}
	r := startReceiver(t, acknowledge)
	sender.Deliver(testDelivery(r.url())).want(t, 200, "") // the panicked deliveries do not count as in progress
}

// In this test the URL's path and query, the data, the secrets and the headers contain private text.
func TestFailuresAndLogsContainNothingPrivate(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	sender := openSender(t, func(s *settings) {
		s.options.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	var texts strings.Builder
	for _, response := range []string{acknowledged, "CANARY answer\r\n\r\n", "HTTP/1.1 200 CANARY\r\nCANARY\r\n\r\n", "HTTP/1.1 302 F\r\nLocation: http://CANARY/\r\n\r\n", "HTTP/1.1 200 OK\r\nCANARY: ", ""} {
		r := startReceiver(t, answerOnce(response))
		d := &Delivery{URL: r.url() + "/CANARY?CANARY=CANARY", Secret: "CANARY", PreviousSecret: "CANARY", EventID: "e-1", Type: "t", Data: []byte(`{"x":"CANARY"}`)}
		fmt.Fprintf(&texts, "%+v %v %#v %s\n", sender.Deliver(d), *d, d, d)
	}
	for _, url := range []string{"http://name.invalid/CANARY", "http://CANARY:CANARY@x/", "%CANARY", "https://127.0.0.1:9/CANARY"} {
		d := &Delivery{URL: url, Secret: "CANARY", EventID: "e-1", Type: "t", Data: []byte(`{"x":"CANARY"}`)}
		fmt.Fprintf(&texts, "%+v %v\n", sender.Deliver(d), d)
	}
	slog.New(slog.NewTextHandler(&log, nil)).Info("parcel", "parcel", testDelivery("http://CANARY/"))
	if got := texts.String() + log.String(); strings.Contains(got, "CANARY") || !strings.Contains(got, "parcel e-1") {
		t.Error(got)
	}
}
