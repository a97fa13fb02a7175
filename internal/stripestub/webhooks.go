package stripestub

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// webhookTimeout is the real time within which a receiver must answer.
const webhookTimeout = 30 * time.Second

// Webhook is an endpoint of the account under test that receives events. Nothing is sent until a test calls Deliver or Send.
type Webhook struct {
	URL    string
	Secret string // for example whsec_…

	stub    *Stub
	types   []string
	client  *http.Client
	pending []Event
}

// AddWebhook registers an endpoint. It gets the events that happen from now on, of the given types; none given: of all types. A
// type may end in .* and then stands for all types with its beginning. client sends the requests; nil: http.DefaultClient.
func (s *Stub) AddWebhook(url, secret string, client *http.Client, types ...string) *Webhook {
	if client == nil {
		client = http.DefaultClient
	}
	w := &Webhook{URL: url, Secret: secret, stub: s, types: types, client: client}
	s.lock()
	defer s.mu.Unlock()
	s.webhooks = append(s.webhooks, w)
	return w
}

func (w *Webhook) wants(kind string) bool {
	return len(w.types) == 0 || slices.ContainsFunc(w.types, func(t string) bool {
		prefix, isPattern := strings.CutSuffix(t, "*")
		return t == kind || isPattern && strings.HasPrefix(kind, prefix)
	})
}

// Pending returns the events that have not been delivered, oldest first.
func (w *Webhook) Pending() []Event {
	w.stub.lock()
	defer w.stub.mu.Unlock()
	return slices.Clone(w.pending)
}

// Delivery is the result of sending an event once.
type Delivery struct {
	Event  Event
	Status int    // of the receiver's answer; 0: no answer
	Body   []byte // of the receiver's answer, at most 64 KiB
	Err    error  // the receiver could not be reached
}

// Signing says how an event is signed. The zero value is the right signature, now.
type Signing struct {
	Secret string    // instead of the endpoint's
	At     time.Time // time in the signature, of the machine's clock; zero: now
	Header string    // instead of the whole header Stripe-Signature; "-": no header
}

// Deliver sends all pending events, oldest first. Those that the receiver accepts (2xx) are no longer pending.
func (w *Webhook) Deliver() []Delivery { return w.deliver(w.Pending()) }

// DeliverReversed sends all pending events, newest first.
func (w *Webhook) DeliverReversed() []Delivery {
	events := w.Pending()
	slices.Reverse(events)
	return w.deliver(events)
}

func (w *Webhook) deliver(events []Event) (deliveries []Delivery) {
	for _, e := range events {
		deliveries = append(deliveries, w.Send(e, Signing{}))
	}
	return deliveries
}

// Send sends one event, pending or not; sending it again is a duplicate, as Stripe may send it. If the receiver accepts it, it
// is no longer pending.
func (w *Webhook) Send(e Event, signing Signing) Delivery {
	set(&signing.Secret, w.Secret)
	if signing.At.IsZero() {
		signing.At = time.Now()
	}
	set(&signing.Header, Sign(e.Body, signing.Secret, signing.At))
	d := Delivery{Event: e}
	ctx, cancel := context.WithTimeout(context.Background(), webhookTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(e.Body))
	if err != nil {
		d.Err = err
		return d
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
	if signing.Header != "-" {
		request.Header.Set("Stripe-Signature", signing.Header)
	}
	response, err := w.client.Do(request)
	if err != nil {
		d.Err = err
		return d
	}
	defer response.Body.Close()
	d.Status = response.StatusCode
	if d.Body, d.Err = io.ReadAll(io.LimitReader(response.Body, 64<<10)); d.Status/100 == 2 {
		w.stub.lock()
		defer w.stub.mu.Unlock()
		w.pending = slices.DeleteFunc(w.pending, func(p Event) bool { return p.ID == e.ID })
	}
	return d
}

// Sign returns the header Stripe-Signature: t=SECONDS,v1=HEX, an HMAC-SHA256 with the secret over the seconds, a dot and the body
// (docs.stripe.com/webhooks, "Verify webhook signatures manually").
func Sign(body []byte, secret string, at time.Time) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}
