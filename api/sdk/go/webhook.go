package mizan

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Bounds of notifications.
const (
	maxNotification = 1 << 20         // bytes of a body
	maxAge          = 5 * time.Minute // maximum difference between the timestamp and the clock, in either direction
	maxStampDigits  = 12
)

// Verifier checks that notifications are genuine.
type Verifier struct {
	secrets []string
	now     func() time.Time
}

// NewVerifier returns a verifier that accepts signatures with a secret. While the secret is being changed, pass the previous
// secret, too. NewVerifier refuses an empty secret, because anybody can sign with an empty secret.
func NewVerifier(secret string, previous ...string) (*Verifier, error) {
	v := &Verifier{secrets: append([]string{secret}, previous...), now: time.Now}
	for _, s := range v.secrets {
		if s == "" {
			return nil, errors.New("mizan: the secret of notifications is empty")
		}
	}
	return v, nil
}

// Notification is a verified notification of a transaction, or an unverified hint of the subscription stream. Exactly one
// field is set.
type Notification struct {
	// Transaction is signed. The same notification may arrive again with the same EventID. Read the transaction before you do
	// anything important.
	Transaction *TransactionEvent

	// Subscription is not signed, so anybody may have sent it. Read the subscription before you change anything.
	Subscription *SubscriptionEvent
}

// Reasons why a body is refused.
var (
	ErrNotGenuine      = errors.New("mizan: the notification is not signed by a known secret within five minutes")
	ErrNotNotification = errors.New("mizan: the body is no notification")
	ErrTooLong         = errors.New("mizan: the body of the notification has more than 1 MiB")
)

// WebhookStatus returns the status with which a receiver should respond. Without an error it is 200. For an error of
// ReadNotification or Verify it is 400, 401 or 413, and for any other error 500. After a 500 the service sends the
// notification again.
func WebhookStatus(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, ErrNotGenuine):
		return http.StatusUnauthorized
	case errors.Is(err, ErrNotNotification):
		return http.StatusBadRequest
	case errors.Is(err, ErrTooLong):
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusInternalServerError
}

// ReadNotification reads the body of a request and verifies the notification in it. No other handler may read the body
// before.
func (v *Verifier) ReadNotification(r *http.Request) (*Notification, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxNotification+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotNotification, err)
	}
	if len(body) > maxNotification {
		return nil, ErrTooLong
	}
	return v.Verify(r.Header, body)
}

// Verify verifies a notification. body must be exactly the bytes that were received.
func (v *Verifier) Verify(header http.Header, body []byte) (*Notification, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return nil, fmt.Errorf("%w: it is no JSON object", ErrNotNotification)
	}
	if _, isEvent := members["event_id"]; !isEvent {
		return hint(members, body)
	}
	if !v.isGenuine(header, body) {
		return nil, ErrNotGenuine
	}
	n := &Notification{Transaction: new(TransactionEvent)}
	if err := json.Unmarshal(body, n.Transaction); err != nil || n.Transaction.EventID == "" {
		return nil, fmt.Errorf("%w: it is signed, and cannot be read: %v", ErrNotNotification, err)
	}
	return n, nil
}

// hint parses a notification of the subscription stream.
func hint(members map[string]json.RawMessage, body []byte) (*Notification, error) {
	n := &Notification{Subscription: new(SubscriptionEvent)}
	if members["event"] == nil || json.Unmarshal(body, n.Subscription) != nil || n.Subscription.Subscription.ID == "" {
		return nil, fmt.Errorf("%w: it has neither an event_id nor a subscription", ErrNotNotification)
	}
	return n, nil
}

// isGenuine tells whether exactly these bytes were signed with a known secret, at a time that is at most five minutes before
// or after now.
func (v *Verifier) isGenuine(header http.Header, body []byte) bool {
	stamp := header.Get("x-webhook-timestamp")
	if !isDigits(stamp) || len(stamp) > maxStampDigits {
		return false
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if age := v.now().Sub(time.Unix(seconds, 0)).Truncate(time.Second); err != nil || age > maxAge || age < -maxAge {
		return false
	}
	genuine := false
	for _, secret := range v.secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(stamp + "."))
		mac.Write(body)
		want := []byte(hex.EncodeToString(mac.Sum(nil)))
		for _, name := range []string{"x-webhook-signature", "x-webhook-signature-previous"} {
			genuine = hmac.Equal(want, []byte(header.Get(name))) || genuine // in constant time
		}
	}
	return genuine
}
