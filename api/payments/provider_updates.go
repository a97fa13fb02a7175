package payments

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"strconv"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Bounds of updates from another platform.
const (
	maxEventID     = 255             // bytes
	notifySkew     = 5 * time.Minute // specification, "Limits"
	notifyKeep     = 24 * time.Hour  // how long an event is known, unless too many came since
	maxKnownEvents = 65_536
)

var (
	headerEventID   = []byte("X-Webhook-Event-Id")
	headerEventTime = []byte("X-Webhook-Timestamp")
	headerSignature = []byte("X-Webhook-Signature")
)

// Updates takes in that another platform has news of a transaction; *payment.Service of
// actors is one.
type Updates interface {
	ProviderUpdate(org, terminal, id ledger.ID) error
}

// updates is what is kept of the updates of other platforms.
type updates struct {
	absent [sha256.Size]byte // the secret of terminals that do not exist or have none
	events events
}

func newUpdates() *updates {
	n := &updates{events: events{known: make(map[event]time.Time), bound: maxKnownEvents}}
	_, _ = rand.Read(n.absent[:]) // it never fails
	return n
}

// takeUpdate is POST /terminal/{id}/notifications: another platform says that one of our
// transactions there has changed (specification, "Events"). The platform is then asked at
// once, and only its answer changes anything. Every fault of the sender is the same 401.
func (h *Handlers) takeUpdate(req *web.Request) error {
	content := req.Request.Body()
	terminal, ok := h.sender(req, content)
	if !ok {
		return ledger.Refuse("payments.updates", ledger.Unauthorized, "not signed by the terminal's platform")
	}
	value, err := web.Document(content)
	if err != nil {
		return err
	}
	id, err := eventOf(value, req.Request.Header.PeekBytes(headerEventID))
	if err != nil {
		return err
	}
	now, e := h.cfg.Clock.Now(), event{terminal: terminal.ID, id: sha256.Sum256(id)}
	if !h.updates.events.seen(e, now) {
		if err := h.report(terminal, value); err != nil {
			return err // not acknowledged: it comes again
		}
		h.updates.events.note(e, now)
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, []byte(`{"data":{}}`))
	return nil
}

// sender is the terminal whose secret has signed the request. Every fault is found with
// the same work.
func (h *Handlers) sender(req *web.Request, content []byte) (*directory.Terminal, bool) {
	id, err := web.ParseID(req.Parameter("id"))
	terminal, found := h.cfg.Directory.FindTerminal(id)
	secret := h.updates.absent[:]
	trusted := err == nil && found && terminal.Connection != nil && terminal.Connection.WebhookSecret != ""
	if trusted {
		secret = []byte(terminal.Connection.WebhookSecret)
	}
	header := &req.Request.Header
	timestamp := header.PeekBytes(headerEventTime)
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write(timestamp) // a hash takes everything
	_, _ = mac.Write([]byte{'.'})
	_, _ = mac.Write(content)
	given := make([]byte, hex.DecodedLen(len(header.PeekBytes(headerSignature))))
	size, malformed := hex.Decode(given, header.PeekBytes(headerSignature))
	signed := subtle.ConstantTimeCompare(mac.Sum(nil), given[:size]) == 1 && malformed == nil
	seconds, unreadable := strconv.ParseInt(string(timestamp), 10, 64)
	off := h.cfg.Clock.Now().Sub(time.Unix(seconds, 0))
	fresh := unreadable == nil && off.Abs() <= notifySkew
	return terminal, trusted && signed && fresh
}

// eventOf is the id of a signed envelope. The header is not signed, so the body's id
// counts, and a header with another id is refused.
func eventOf(envelope, header []byte) ([]byte, error) {
	const op = "payments.updates"
	if !web.IsObject(envelope) {
		return nil, ledger.RefuseField(op, "", "the body must be an object")
	}
	id, _ := jsonwalk.Text(web.Member(envelope, "event_id"))
	switch {
	case len(id) == 0 || len(id) > maxEventID:
		return nil, ledger.RefuseField(op, "event_id", "event_id must be a string of at most %d bytes", maxEventID)
	case string(header) != string(id):
		return nil, ledger.Refuse(op, ledger.Unauthorized, "the header names another event")
	}
	return id, nil
}

// report has the platform asked about the transaction that the envelope names by our id.
// The rest of the envelope is ignored.
func (h *Handlers) report(t *directory.Terminal, envelope []byte) error {
	content := web.Member(envelope, "data")
	if !web.IsObject(content) {
		return nil
	}
	txid, _ := jsonwalk.Text(web.Member(content, "txid"))
	id, err := web.ParseID(string(txid))
	if err != nil {
		return nil // not one of ours
	}
	return h.cfg.Updates.ProviderUpdate(t.Org, t.ID, id)
}

// event is an event of one terminal's platform.
type event struct {
	terminal ledger.ID
	id       [sha256.Size]byte
}

// events are those that came lately, up to a bound.
type events struct {
	mu    sync.Mutex
	known map[event]time.Time // guarded by mu: when it came
	order []event             // guarded by mu: by that time, the oldest first
	bound int
}

func (k *events) seen(e event, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	at, known := k.known[e]
	return known && now.Sub(at) <= notifyKeep
}

func (k *events) note(e event, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.order) > 0 && (len(k.order) >= k.bound || now.Sub(k.known[k.order[0]]) > notifyKeep) {
		delete(k.known, k.order[0])
		k.order = k.order[1:]
	}
	if _, known := k.known[e]; !known {
		k.known[e] = now
		k.order = append(k.order, e)
	}
}
