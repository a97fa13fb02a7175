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

	"mizan/actors"
	"mizan/api/web"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/directory"
)

// Bounds of provider updates.
const (
	maxEventID          = 255             // bytes
	maxNotificationSkew = 5 * time.Minute // specification, "Limits"
	eventIDLifetime     = 24 * time.Hour  // time for which an event's id is kept, unless too many newer ids arrive
	maxKnownEvents      = 65_536
)

var (
	headerEventID   = []byte("X-Webhook-Event-Id")
	headerEventTime = []byte("X-Webhook-Timestamp")
	headerSignature = []byte("X-Webhook-Signature")
)

// Updates accepts provider updates: messages in which a provider says that a transaction has changed.
// *payment.Service of package actors/payment implements it.
type Updates interface {
	ProviderUpdate(org, terminal, id ledger.ID) error
	ProviderNotification(terminal *directory.Terminal, n *actors.Notification, isKnown func(id string) bool) (id string, err error)
}

// updateState is the state that the handler of provider updates keeps between requests.
type updateState struct {
	absentSecret [sha256.Size]byte // used instead of the secret if the terminal does not exist or has no secret
	events       recentEvents
}

func newUpdateState() *updateState {
	s := &updateState{events: recentEvents{arrivedAt: make(map[providerEvent]time.Time), bound: maxKnownEvents}}
	_, _ = rand.Read(s.absentSecret[:]) // rand.Read never fails
	return s
}

// receiveProviderUpdate is POST /terminal/{id}/notifications: a provider reports that a transaction at the terminal has
// changed (specification, "Events"). The service does not trust the report itself: it immediately asks the provider for the
// transaction's state, and only the provider's answer changes anything. If the sender can't be authenticated, the response
// is the same 401, whatever the reason is.
func (h *Handlers) receiveProviderUpdate(req *web.Request) error {
	content := req.Request.Body()
	terminal, ok := h.authenticatedTerminal(req, content)
	if !ok {
		return ledger.Refuse("payments.updates", ledger.Unauthorized, "not signed by the terminal's platform")
	}
	req.SetOwner(terminal.Org, terminal.Partner)
	value, err := web.Document(content)
	if err != nil {
		return err
	}
	id, err := eventOf(value, req.Request.Header.PeekBytes(headerEventID))
	if err != nil {
		return err
	}
	now, e := h.cfg.Clock.Now(), providerEvent{terminal: terminal.ID, id: sha256.Sum256(id)}
	if !h.updateState.events.has(e, now) {
		if err := h.inquire(terminal, value); err != nil {
			return err // so the update is not acknowledged, and the provider sends it again
		}
		h.updateState.events.record(e, now)
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, []byte(`{"data":{}}`))
	return nil
}

// authenticatedTerminal returns the terminal if the request is signed with the terminal's secret. If it is not,
// authenticatedTerminal does the same work, whatever the reason is, so that its duration does not reveal the reason.
func (h *Handlers) authenticatedTerminal(req *web.Request, content []byte) (*directory.Terminal, bool) {
	id, err := web.ParseID(req.Parameter("id"))
	terminal, found := h.cfg.Directory.FindTerminal(id)
	secret := h.updateState.absentSecret[:]
	hasSecret := err == nil && found && terminal.Server.SigningSecret != ""
	if hasSecret {
		secret = []byte(terminal.Server.SigningSecret)
	}
	header := &req.Request.Header
	timestamp := header.PeekBytes(headerEventTime)
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write(timestamp) // writing to a hash never fails
	_, _ = mac.Write([]byte{'.'})
	_, _ = mac.Write(content)
	signature := make([]byte, hex.DecodedLen(len(header.PeekBytes(headerSignature))))
	size, hexErr := hex.Decode(signature, header.PeekBytes(headerSignature))
	isSigned := subtle.ConstantTimeCompare(mac.Sum(nil), signature[:size]) == 1 && hexErr == nil
	seconds, timeErr := strconv.ParseInt(string(timestamp), 10, 64)
	skew := h.cfg.Clock.Now().Sub(time.Unix(seconds, 0))
	isFresh := timeErr == nil && skew.Abs() <= maxNotificationSkew
	return terminal, hasSecret && isSigned && isFresh
}

// eventOf returns the event's id in an envelope, which is the signed JSON body of an update. A header has the id, too, but
// the header is not signed, so the id in the envelope counts. If the ids differ, the update is refused.
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

// inquire makes the service ask the provider for the state of a transaction. The envelope (the body of the update) contains
// the id that this service gave the transaction. Everything else in the envelope is ignored.
func (h *Handlers) inquire(t *directory.Terminal, envelope []byte) error {
	content := web.Member(envelope, "data")
	if !web.IsObject(content) {
		return nil
	}
	txid, _ := jsonwalk.Text(web.Member(content, "txid"))
	id, err := web.ParseID(string(txid))
	if err != nil {
		return nil // no transaction has this id
	}
	return h.cfg.ProviderUpdates.ProviderUpdate(t.Org, t.ID, id)
}

// providerEvent identifies an event of one terminal's provider.
type providerEvent struct {
	terminal ledger.ID
	id       [sha256.Size]byte
}

// recentEvents holds the most recent events, at most bound of them. If a provider sends one of them again, the event causes
// no further inquiry.
type recentEvents struct {
	mu        sync.Mutex
	arrivedAt map[providerEvent]time.Time // guarded by mu: event → time of arrival
	order     []providerEvent             // guarded by mu: ordered by time of arrival, oldest first
	bound     int
}

func (r *recentEvents) has(e providerEvent, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known := r.arrivedAt[e]
	return known && now.Sub(at) <= eventIDLifetime
}

func (r *recentEvents) record(e providerEvent, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.order) > 0 && (len(r.order) >= r.bound || now.Sub(r.arrivedAt[r.order[0]]) > eventIDLifetime) {
		delete(r.arrivedAt, r.order[0])
		r.order = r.order[1:]
	}
	if _, known := r.arrivedAt[e]; !known {
		r.arrivedAt[e] = now
		r.order = append(r.order, e)
	}
}
