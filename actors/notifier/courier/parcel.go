package courier

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
	"time"

	"mizan/internal/assert"
)

// Parcel is one notification on its way (specification, "Events").
type Parcel struct {
	URL      string // http or https, as ledger/directory has let it through
	Secret   string // signs; empty: nothing is signed
	Previous string // signs a second time while secrets rotate; of no meaning without Secret
	EventID  string // stable across attempts; letters, digits, '.', '_', ':' and '-'
	Type     string // transaction.<status>, of the same characters
	Data     []byte // a JSON object, sent as it is
	Bare     bool   // Data is the whole body: no envelope, no EventID, no Type, no signature
}

// Format implements fmt.Formatter, so that no verb shows the secrets.
func (p Parcel) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("parcel " + p.EventID)) }

// Attempt is what became of one delivery attempt.
type Attempt struct {
	At      time.Time     // of the clock, when the envelope was formed
	Status  int           // of the answer; 0: none came, or none that could be understood
	Failure string        // why it is no acknowledgement, in a few words for people; empty: acknowledged
	Took    time.Duration // real time until the answer's header was there, or there was none to wait for
}

// userAgent names the sender to those who read their logs.
const userAgent = "mizan-notifier"

// sheet is the paper that a parcel is written on.
type sheet struct {
	body    []byte
	request []byte
}

// maxSheet bounds what the paper that is kept may hold: a larger one is a rare
// parcel's.
const maxSheet = 64 << 10

var sheets = sync.Pool{New: func() any { return new(sheet) }}

func (s *sheet) release() {
	if cap(s.body) <= maxSheet && cap(s.request) <= 2*maxSheet {
		sheets.Put(s)
	}
}

// write puts the parcel's request on the paper.
func (s *sheet) write(p *Parcel, to *address, at time.Time) {
	if p.Bare {
		s.body = append(s.body[:0], p.Data...)
	} else {
		assert.That(plain(p.EventID) && plain(p.Type), "an event's id or type would have to be quoted")
		s.body = appendEnvelope(s.body[:0], p, at.Unix())
	}
	r := append(s.request[:0], "POST "...)
	r = append(r, to.target...)
	r = append(r, " HTTP/1.1\r\nHost: "...)
	r = append(r, to.authority...)
	r = append(r, "\r\nUser-Agent: "+userAgent+"\r\nContent-Type: application/json\r\nContent-Length: "...)
	r = strconv.AppendInt(r, int64(len(s.body)), 10)
	if p.Secret != "" && !p.Bare {
		r = append(r, "\r\nx-webhook-event-id: "...)
		r = append(r, p.EventID...)
		r = append(r, "\r\nx-webhook-timestamp: "...)
		r = strconv.AppendInt(r, at.Unix(), 10)
		r = append(r, "\r\nx-webhook-signature: "...)
		r = appendSignature(r, p.Secret, at.Unix(), s.body)
		if p.Previous != "" {
			r = append(r, "\r\nx-webhook-signature-previous: "...)
			r = appendSignature(r, p.Previous, at.Unix(), s.body)
		}
	}
	r = append(r, "\r\n\r\n"...)
	s.request = append(r, s.body...)
}

// appendEnvelope writes the keys of the specification's table, in its order.
func appendEnvelope(b []byte, p *Parcel, timestamp int64) []byte {
	b = append(b, `{"event_id":"`...)
	b = append(b, p.EventID...)
	b = append(b, `","timestamp":`...)
	b = strconv.AppendInt(b, timestamp, 10)
	b = append(b, `,"type":"`...)
	b = append(b, p.Type...)
	b = append(b, `","data":`...)
	b = append(b, p.Data...)
	return append(b, '}')
}

// appendSignature writes the HMAC-SHA256 in hex over `<timestamp>.<body>`.
func appendSignature(b []byte, secret string, timestamp int64, body []byte) []byte {
	var digits [20]byte
	var sum [sha256.Size]byte
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write(append(strconv.AppendInt(digits[:0], timestamp, 10), '.')) // a hash never fails
	_, _ = mac.Write(body)
	return hex.AppendEncode(b, mac.Sum(sum[:0]))
}

// plain tells whether a word stands in JSON and in a header as it is.
func plain(word string) bool {
	for i := range len(word) {
		switch c := word[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return word != ""
}
