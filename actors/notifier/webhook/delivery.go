package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
	"time"

	"mizan/internal/assert"
	"mizan/internal/tracing"
	"mizan/ledger/schema"
)

// Delivery is one notification to deliver.
type Delivery struct {
	URL             string // http or https; ledger/directory has checked it
	Secret          string // key of the signature; empty: no signature
	PreviousSecret  string // the secret before a rotation, key of a second signature; empty if none; ignored without Secret
	EventID         string // the same at each attempt; consists of letters, digits, '.', '_', ':' and '-'
	Type            string // transaction.<status>, in the same characters as EventID
	Data            []byte // a JSON object, sent unchanged
	WithoutEnvelope bool   // Data is the whole body, without an envelope around it; nothing is signed
	Origin          tracing.Origin
}

// Format implements fmt.Formatter, so that no verb shows the secrets.
func (d Delivery) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("parcel " + d.EventID)) }

// Attempt is the result of one delivery attempt.
type Attempt struct {
	At       time.Time     // when the attempt began, by Options.Clock
	Status   int           // HTTP status; 0: no response, or none that could be parsed
	Failure  string        // why the delivery was not acknowledged, in a few words for people; empty: acknowledged
	Duration time.Duration // real time until the response's header arrived or the attempt failed
}

// userAgent identifies the sender in the receiver's logs.
const userAgent = "mizan-notifier"

// requestBuffers are the buffers to which a request is written.
type requestBuffers struct {
	body    []byte
	request []byte
}

// maxPooledBuffer bounds the capacity of a pooled body buffer, in bytes. Larger buffers are rare and not pooled.
const maxPooledBuffer = 64 << 10

var buffersPool = sync.Pool{New: func() any { return new(requestBuffers) }}

func (s *requestBuffers) release() {
	if cap(s.body) <= maxPooledBuffer && cap(s.request) <= 2*maxPooledBuffer {
		buffersPool.Put(s)
	}
}

// writeRequest writes the delivery's request into the buffers.
func (s *requestBuffers) writeRequest(d *Delivery, to *parsedURL, at time.Time) {
	if d.WithoutEnvelope {
		s.body = append(s.body[:0], d.Data...)
	} else {
		assert.That(needsNoQuoting(d.EventID) && needsNoQuoting(d.Type), "an event's id or type would have to be quoted")
		s.body = appendEnvelope(s.body[:0], d, at.Unix())
	}
	r := append(s.request[:0], "POST "...)
	r = append(r, to.target...)
	r = append(r, " HTTP/1.1\r\nHost: "...)
	r = append(r, to.authority...)
	r = append(r, "\r\nUser-Agent: "+userAgent+"\r\nContent-Type: application/json\r\nContent-Length: "...)
	r = strconv.AppendInt(r, int64(len(s.body)), 10)
	if d.Origin.HasRequest() {
		r = schema.AppendID(append(r, "\r\nx-request-id: "...), d.Origin.Request)
	}
	if d.Origin.HasTrace() {
		r = d.Origin.AppendTraceparent(append(r, "\r\ntraceparent: "...))
	}
	if d.Secret != "" && !d.WithoutEnvelope {
		r = append(r, "\r\nx-webhook-event-id: "...)
		r = append(r, d.EventID...)
		r = append(r, "\r\nx-webhook-timestamp: "...)
		r = strconv.AppendInt(r, at.Unix(), 10)
		r = append(r, "\r\nx-webhook-signature: "...)
		r = appendSignature(r, d.Secret, at.Unix(), s.body)
		if d.PreviousSecret != "" {
			r = append(r, "\r\nx-webhook-signature-previous: "...)
			r = appendSignature(r, d.PreviousSecret, at.Unix(), s.body)
		}
	}
	r = append(r, "\r\n\r\n"...)
	s.request = append(r, s.body...)
}

// Message is what the receiver of a delivery gets. It is for callers that pass the message on themselves.
type Message struct {
	Headers [][2]string // lower-case names, with values; without a secret, only the content type, x-request-id and traceparent
	Body    []byte      // the bytes that the signatures cover
}

// Message returns the message that a Sender would send for the delivery at the time at. The delivery's URL is
// not used.
func (d *Delivery) Message(at time.Time) Message {
	m := Message{Headers: [][2]string{{"content-type", "application/json"}}}
	if d.Origin.HasRequest() {
		m.Headers = append(m.Headers, [2]string{"x-request-id", d.Origin.Request.String()})
	}
	if d.Origin.HasTrace() {
		m.Headers = append(m.Headers, [2]string{"traceparent", d.Origin.Traceparent()})
	}
	if d.WithoutEnvelope {
		m.Body = append(m.Body, d.Data...)
		return m
	}
	m.Body = appendEnvelope(nil, d, at.Unix())
	if d.Secret == "" {
		return m
	}
	m.Headers = append(m.Headers,
		[2]string{"x-webhook-event-id", d.EventID},
		[2]string{"x-webhook-timestamp", strconv.FormatInt(at.Unix(), 10)},
		[2]string{"x-webhook-signature", string(appendSignature(nil, d.Secret, at.Unix(), m.Body))},
	)
	if d.PreviousSecret != "" {
		m.Headers = append(m.Headers, [2]string{"x-webhook-signature-previous", string(appendSignature(nil, d.PreviousSecret, at.Unix(), m.Body))})
	}
	return m
}

// appendEnvelope appends the envelope, the JSON object around a delivery's data, in the documented order of
// its members.
func appendEnvelope(b []byte, d *Delivery, timestamp int64) []byte {
	b = append(b, `{"event_id":"`...)
	b = append(b, d.EventID...)
	b = append(b, `","timestamp":`...)
	b = strconv.AppendInt(b, timestamp, 10)
	b = append(b, `,"type":"`...)
	b = append(b, d.Type...)
	b = append(b, `","data":`...)
	b = append(b, d.Data...)
	return append(b, '}')
}

// appendSignature appends the HMAC-SHA256 over `<timestamp>.<body>`, in hex.
func appendSignature(b []byte, secret string, timestamp int64, body []byte) []byte {
	var digits [20]byte
	var sum [sha256.Size]byte
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write(append(strconv.AppendInt(digits[:0], timestamp, 10), '.')) // a hash never fails
	_, _ = mac.Write(body)
	return hex.AppendEncode(b, mac.Sum(sum[:0]))
}

// needsNoQuoting reports whether a word can be written into JSON and into a header without quoting.
func needsNoQuoting(word string) bool {
	for i := range len(word) {
		switch c := word[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return word != ""
}
