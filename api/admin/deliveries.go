package admin

import (
	"context"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/actors/notifier"
	"mizan/api/web"
	"mizan/api/web/records"
	"mizan/ledger"
	"mizan/posting"
)

// Deliveries reads the notifications to merchants and operators, and sends them again. *notifier.Service implements
// it. An error is a *ledger.Refusal, or comes from the store.
type Deliveries interface {
	Read(org ledger.ID, id notifier.ID) (*notifier.Delivery, error)
	List(org ledger.ID, q notifier.Query) (rows []*notifier.Delivery, next notifier.Position, err error)
	Replay(org ledger.ID, id notifier.ID, onChange notifier.AddToChange[*notifier.Delivery]) (*notifier.Delivery, error)
	ReplayParked(org, to ledger.ID, from, until ledger.Micros, onChange notifier.AddToChange[int]) (replayed int, err error)
	Listen(org ledger.ID, secret string) (*notifier.Listener, error)
	Test(org, to ledger.ID) (event ledger.ID, attempt notifier.Attempt, hasAddress bool)
}

// listDeliveries serves GET /deliveries?transaction_id&terminal_id&state&from&to. The newest delivery comes first;
// pending deliveries have the order that notifier.Service.List describes.
func (h *Handlers) listDeliveries(req *web.Request) error {
	org, err := req.Organization(h.cfg.Directory)
	if err != nil {
		return err
	}
	q := web.QueryOf(req.RequestCtx, "transaction_id", "terminal_id", "state", "from", "to", "limit", "cursor")
	query := notifier.Query{
		State: deliveryState(q), From: q.Instant("from", 0), Until: max(1, q.UpperBound("to", h.cfg.Clock.Now())),
		Limit: q.Limit(), Before: deliveryPosition(q, org),
	}
	query.Transaction, _ = q.ID("transaction_id")
	query.To, _ = q.ID("terminal_id")
	if err := q.Problems.Err(); err != nil {
		return err
	}
	if !h.mayList(req, org, &query) {
		return ledger.RefuseField("admin.listDeliveries", "terminal_id", "terminal_id must be a terminal's or the partner's own")
	}
	if sentNilID(q, "transaction_id", query.Transaction) || sentNilID(q, "terminal_id", query.To) {
		web.WriteJSON(req.RequestCtx, fiber.StatusOK, web.NewList().Finish(deliveryCursorField, ""))
		return nil
	}
	rows, next, err := h.cfg.Deliveries.List(org, query)
	if err != nil {
		return err
	}
	l := web.NewList()
	for _, d := range rows {
		l.Append(newDeliveryJSON(org, d, len(d.Attempts)))
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish(deliveryCursorField, deliveryCursor(org, next)))
	return nil
}

// mayList tells whether the caller may see the deliveries that the query selects. A partner may see the deliveries to itself
// and to its terminals, and all deliveries about one of its transactions.
func (h *Handlers) mayList(req *web.Request, org ledger.ID, q *notifier.Query) bool {
	if req.OwnPartner == 0 || h.mayAccessRecipient(req, org, q.To) {
		return true
	}
	if q.Transaction == (ledger.ID{}) || q.To != (ledger.ID{}) {
		return false
	}
	_, err := h.cfg.Transactions.Read(org, req.OwnPartner, q.Transaction)
	return err == nil
}

// untriedPrefix is the beginning of a cursor whose position is among the pending deliveries that were not tried yet.
const untriedPrefix = "untried"

// deliveryCursor returns the cursor for a position in the list. It is the event_id of the delivery
// before the position, with the prefix "untried-" among deliveries that were not tried yet. At the
// beginning of these deliveries the cursor is "untried". For the zero Position the cursor is empty.
func deliveryCursor(org ledger.ID, at notifier.Position) string {
	switch {
	case at == notifier.Position{}:
		return ""
	case at.ID == notifier.ID{}:
		return untriedPrefix
	case at.Untried:
		return untriedPrefix + "-" + notifier.EventID(org, at.ID).String()
	}
	return notifier.EventID(org, at.ID).String()
}

// deliveryCursorField is the name of the field of a delivery that serves as the cursor.
const deliveryCursorField = "event_id"

// sentNilID tells whether the client sent the nil UUID as the value of this parameter. No record has this id, so the list
// must be empty; but Deliveries.List would treat the nil UUID as if the parameter were absent.
func sentNilID(q *web.Query, name string, id ledger.ID) bool {
	_, sent := q.Sent(name)
	return sent && id == (ledger.ID{})
}

// deliveryState returns the value of the parameter state, or 0 if deliveries in any state are requested.
func deliveryState(q *web.Query) notifier.State {
	const name = "state"
	if _, sent := q.Sent(name); !sent {
		return 0
	}
	states := map[string]notifier.State{
		notifier.Pending.String(): notifier.Pending, notifier.Delivered.String(): notifier.Delivered, notifier.Parked.String(): notifier.Parked,
	}
	return states[q.Choice(name, notifier.Pending.String(), notifier.Delivered.String(), notifier.Parked.String())]
}

// deliveryPosition parses a cursor from deliveryCursor. The prefix "untried" is accepted only in a list of pending
// deliveries, because all other deliveries have had an attempt.
func deliveryPosition(q *web.Query, org ledger.ID) (at notifier.Position) {
	text, sent := q.Sent("cursor")
	if !sent {
		return at
	}
	eventID := text
	if afterPrefix, found := strings.CutPrefix(text, untriedPrefix); found && q.Text("state") == notifier.Pending.String() {
		at.Untried = true
		if afterPrefix == "" {
			return at
		}
		eventID = strings.TrimPrefix(afterPrefix, "-")
	}
	event, err := web.ParseID(eventID)
	id, known := notifier.DeliveryOfEvent(org, event)
	if at.ID = id; err != nil || !known || !strings.EqualFold(deliveryCursor(org, at), text) {
		q.RefuseCursor()
	}
	return at
}

// deliveryAt returns the request's organization, and the id of the delivery that the URL path names. It returns
// NotFound if the delivery belongs to another organization.
func (h *Handlers) deliveryAt(req *web.Request) (org ledger.ID, id notifier.ID, err error) {
	org, event, err := h.organizationAndID(req)
	if err != nil {
		return org, id, err
	}
	id, known := notifier.DeliveryOfEvent(org, event)
	if !known {
		return org, id, web.NotFound()
	}
	return org, id, nil
}

// readDelivery serves GET /deliveries/{event_id}.
func (h *Handlers) readDelivery(req *web.Request) error {
	org, id, err := h.deliveryAt(req)
	if err != nil {
		return err
	}
	d, err := h.readOwn(req, org, id)
	if err != nil {
		return err
	}
	web.WriteData(req, fiber.StatusOK, deliveryWithAttempts(org, d))
	return nil
}

// readOwn returns a delivery. If the request is restricted to a partner and the delivery went to somebody else, it
// returns NotFound.
func (h *Handlers) readOwn(req *web.Request, org ledger.ID, id notifier.ID) (*notifier.Delivery, error) {
	d, err := h.cfg.Deliveries.Read(org, id)
	if err == nil && req.OwnPartner != 0 && !h.mayAccessRecipient(req, org, d.To) {
		err = web.NotFound()
	}
	return d, orNotFound(err)
}

// orNotFound replaces the error for a missing delivery by web.NotFound, which is the error for every other missing record.
func orNotFound(err error) error {
	if ledger.IsRefusal(err, ledger.NotFound) {
		return web.NotFound()
	}
	return err
}

// replayDelivery serves POST /deliveries/{event_id}/replay. It makes another attempt immediately.
func (h *Handlers) replayDelivery(req *web.Request) error {
	if err := checkEmptyOrObject(req.Request.Body()); err != nil {
		return err
	}
	var org ledger.ID // the delivery's organization; set when the delivery is found
	reply := records.Reply[*notifier.Delivery]{Status: fiber.StatusOK, Show: func(d *notifier.Delivery) any { return deliveryWithAttempts(org, d) }}
	return run(h, req, reply, func(ctx context.Context) (*notifier.Delivery, error) {
		deliveryOrg, id, err := h.deliveryAt(req)
		if err != nil {
			return nil, err
		}
		org = deliveryOrg
		if req.OwnPartner != 0 {
			if _, err := h.readOwn(req, org, id); err != nil {
				return nil, err
			}
		}
		d, err := h.cfg.Deliveries.Replay(org, id, func(change *posting.Change, d *notifier.Delivery) error {
			return h.cfg.Directory.StoreReply(ctx, deliveryOrg, change, d)
		})
		return d, orNotFound(err)
	})
}

// replayedJSON is the response with the number of deliveries that are attempted again.
type replayedJSON struct {
	Deliveries int `json:"replayed"`
}

// replayParked serves POST /deliveries/replay, whose body is {terminal_id,from?,to?}. It immediately makes
// another attempt for each parked delivery of the terminal. Parked deliveries are not retried otherwise.
func (h *Handlers) replayParked(req *web.Request) error {
	reply := records.Reply[int]{Status: fiber.StatusOK, Show: func(n int) any { return replayedJSON{n} }}
	return runInOrganization(h, req, reply, func(ctx context.Context, org ledger.ID) (int, error) {
		f, err := parseForm(req, "terminal_id", "from", "to")
		if err != nil {
			return 0, err
		}
		terminal := f.ID("terminal_id")
		if terminal == nil && !f.Problems.HasField("terminal_id") {
			f.Problems.Add("terminal_id", "terminal_id is required")
		}
		from, until := max(0, f.Instant("from")), f.upperBound("to", h.cfg.Clock.Now())
		if err := f.Problems.Err(); err != nil {
			return 0, err
		}
		if !h.mayAccessRecipient(req, org, *terminal) {
			return 0, web.NotFound()
		}
		return h.cfg.Deliveries.ReplayParked(org, *terminal, from, until, func(change *posting.Change, n int) error {
			return h.cfg.Directory.StoreReply(ctx, org, change, n)
		})
	})
}

// upperBound reads an inclusive upper bound. If the field is absent, or is the current time of the
// clock (web.ThroughNow), it returns 0, which means no bound.
func (f form) upperBound(name string, now time.Time) ledger.Micros {
	if f.Text(name) == nil {
		return 0
	}
	at := f.Instant(name)
	if web.ThroughNow(at, now) == web.Forever {
		return 0
	}
	return max(1, at)
}

// maxTestDeliveries bounds the number of test deliveries in progress, because each of them lasts until its receiver responds.
const maxTestDeliveries = 16

// testDeliveries is a semaphore that bounds the number of test deliveries in progress.
type testDeliveries struct{ places chan struct{} }

func newTestDeliveries(allowed int) *testDeliveries {
	return &testDeliveries{make(chan struct{}, allowed)}
}

// sendTestDelivery serves POST /terminal/{id}/test-delivery. It immediately sends a test notification, which is about no
// transaction, to the terminal's address and to the organization's open notification streams. The status of the response is
// 200 even if the notification does not arrive.
func (h *Handlers) sendTestDelivery(req *web.Request) error {
	tests := h.testDeliveries
	if err := checkEmptyOrObject(req.Request.Body()); err != nil {
		return err
	}
	terminal, err := recordAt(h, req, h.cfg.Directory.Terminal)
	if err != nil {
		return err
	}
	select {
	case tests.places <- struct{}{}:
		defer func() { <-tests.places }()
	default:
		return ledger.Refuse("admin.testDelivery", ledger.Unavailable, "%d test deliveries are under way", cap(tests.places)).By(ledger.LimitTestDeliveries)
	}
	event, attempt, isSent := h.cfg.Deliveries.Test(terminal.Org, terminal.ID)
	if !isSent {
		return ledger.RefuseField("admin.testDelivery", "notify_url", "no notify_url is set, neither with the terminal nor with its partner, and no stream of notifications is open")
	}
	web.WriteData(req, fiber.StatusOK, testDeliveryJSON{event, attempt.Failure == "", outcomeOf(&attempt)})
	return nil
}

// testDeliveryJSON is the response to a test delivery.
type testDeliveryJSON struct {
	Event     ledger.ID `json:"event_id"`
	Delivered bool      `json:"delivered"`
	outcomeJSON
}
