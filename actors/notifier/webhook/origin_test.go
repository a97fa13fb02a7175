package webhook

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/tracing"
)

// A Message is what a caller forwards itself. It has the body and the headers of the request that the Sender would send. That
// holds for deliveries with and without an origin, and for signed and unsigned ones.
func TestMessageHasTheHeadersOfTheRequest(t *testing.T) {
	at := time.Unix(1788430530, 0)
	traced := tracing.Origin{Request: uuid.UUID{7}}
	traced.SetTraceparent([]byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
	for _, origin := range []tracing.Origin{{}, {Request: uuid.UUID{7}}, traced} {
		unsigned, withoutEnvelope := signedDelivery("https://a/"), signedDelivery("https://a/")
		unsigned.Secret, withoutEnvelope.WithoutEnvelope = "", true
		for name, d := range map[string]*Delivery{"signed": signedDelivery("https://a/"), "unsigned": unsigned, "without an envelope": withoutEnvelope} {
			d.Origin = origin
			to, _ := parseURL(d.URL)
			var buffers requestBuffers
			buffers.writeRequest(d, to, at)
			request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(buffers.request)))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(request.Body)
			message := d.Message(at)
			if err != nil || !bytes.Equal(message.Body, body) {
				t.Errorf("%s: the body is %s, the request has %s (%v)", name, message.Body, body, err)
			}
			sent := request.Header
			for _, name := range []string{"User-Agent", "Content-Length"} { // headers of the connection, which a Message lacks
				sent.Del(name)
			}
			want := make(http.Header)
			for _, h := range message.Headers {
				want.Add(h[0], h[1])
			}
			if fmt.Sprint(want) != fmt.Sprint(sent) {
				t.Errorf("%s, origin %v: the message has %v, the request %v", name, origin, want, sent)
			}
			if (sent.Get("x-request-id") != "") != origin.HasRequest() || (sent.Get("traceparent") != "") != origin.HasTrace() {
				t.Errorf("%s, origin %v: the request has %v", name, origin, sent)
			}
		}
	}
}
