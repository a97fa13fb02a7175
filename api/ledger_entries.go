package api

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/ledger"
)

// listEntries is GET /ledger/entries: events that carry an entry, newest first.
func (h *ledgerHandlers) listEntries(req *Request) error {
	q := queryOf(req.RequestCtx, "source", "account", "event", "env", "from", "to", "limit", "cursor")
	e := eventQuery{
		entries: true, who: &req.Principal, env: q.env(), account: ledger.Path(q.text("account")), name: q.text("event"),
		before: q.seq(), limit: q.limit(),
	}
	e.from, e.to = windowOf(q, h.cfg.Clock.Now())
	return writeEvents(req, h.cfg.Journal, q, &e, appendEntry)
}

// window is the time asked for, both bounds included.
func windowOf(q *query, now time.Time) (from, to ledger.Micros) {
	from, to = q.instant("from", 0), q.upTo("to", now)
	if from > to {
		q.problems.add("to", "to must not be before from")
	}
	return from, to
}

// listEvents is GET /ledger/events: every transition, newest first. A partner
// sees those that moved money of its own.
func (h *ledgerHandlers) listEvents(req *Request) error {
	q := queryOf(req.RequestCtx, "source", "limit", "cursor")
	e := eventQuery{entries: req.Principal.Partner != nil, who: &req.Principal, to: forever, before: q.seq(), limit: q.limit()}
	return writeEvents(req, h.cfg.Journal, q, &e, appendEvent)
}

// readEntry is GET /ledger/entries/{seq}.
func (h *ledgerHandlers) readEntry(req *Request) error {
	said := req.Parameter("seq")
	seq, err := strconv.ParseUint(said, 10, 63)
	if err != nil || strconv.FormatUint(seq, 10) != said {
		return notFound()
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	e, _, found, err := view.Event(req.Principal.Org, seq)
	if err != nil {
		return err
	}
	if !found || e.Entry == nil || !seesAny(&req.Principal, e.Entry) {
		return notFound()
	}
	b, err := newBalances(view, &req.Principal, []ledger.Event{e})
	if err != nil {
		return err
	}
	var out encoder
	out.open('{')
	out.enter("data", '{')
	appendEntry(&out, &e, b[0])
	out.close('}')
	out.close('}')
	writeJSON(req.RequestCtx, fiber.StatusOK, out.buf)
	return nil
}
