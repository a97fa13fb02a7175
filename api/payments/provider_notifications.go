package payments

import (
	"crypto/sha256"

	"github.com/gofiber/fiber/v2"

	"mizan/actors"
	"mizan/api/web"
	"mizan/ledger"
)

const (
	// stripeProvider is the provider of the terminals that the route serves.
	stripeProvider = "stripe"

	// StripePath begins the path at which Stripe sends its events; the terminal's id follows.
	StripePath = "/api/v1/providers/" + stripeProvider + "/"

	// maxStripeEvent is the largest accepted event in bytes. Stripe bounds the members of an object, so that events are much shorter.
	maxStripeEvent = 256 << 10
)

var headerStripeSignature = []byte("Stripe-Signature")

// receiveStripeEvent is POST /providers/stripe/{id}: Stripe's webhook. The event only leads to an inquiry about a charge (see
// receiveProviderUpdate). If the sender can't be authenticated, the response is the same 400, whatever the reason is.
func (h *Handlers) receiveStripeEvent(req *web.Request) error {
	const op = "payments.stripe"
	id, err := web.ParseID(req.Parameter("id"))
	terminal, found := h.cfg.Directory.FindTerminal(id)
	if err != nil || !found || terminal.Provider != stripeProvider {
		return errStripeSignature
	}
	req.SetOwner(terminal.Org, terminal.Partner)
	now := h.cfg.Clock.Now()
	eventOf := func(id string) providerEvent {
		return providerEvent{terminal: terminal.ID, id: sha256.Sum256([]byte(id))}
	}
	n := &actors.Notification{Signature: string(req.Request.Header.PeekBytes(headerStripeSignature)), Body: req.Request.Body()}
	eventID, err := h.cfg.ProviderUpdates.ProviderNotification(terminal, n, func(id string) bool { return h.updateState.events.has(eventOf(id), now) })
	switch {
	case ledger.IsRefusal(err, ledger.Unauthorized), ledger.IsRefusal(err, ledger.NotFound):
		return errStripeSignature
	case ledger.IsRefusal(err, ledger.Invalid):
		return ledger.Refuse(op, web.BadRequest, "the body is no event of Stripe")
	case err != nil:
		return err // so the event is not acknowledged, and Stripe sends it again
	}
	h.updateState.events.record(eventOf(eventID), now)
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, []byte(`{"data":{}}`))
	return nil
}

// errStripeSignature is the answer to every event that is not verified.
var errStripeSignature = ledger.Refuse("payments.stripe", web.BadRequest, "the event is not signed with the terminal's secret")
