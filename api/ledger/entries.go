package ledgerapi

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/api/web/journal"
	"mizan/ledger"
	"mizan/ledger/jsonform"
	"mizan/ledger/schema"
)

// listEntries is GET /ledger/entries: events that carry an entry, newest first.
func (h *Handlers) listEntries(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx, "source", "account", "event", "env", "from", "to", "limit", "cursor")
	e := journal.EventQuery{
		Entries: true, Who: &req.Principal, Env: q.Env(), Account: ledger.Path(q.Text("account")), Name: q.Text("event"),
		Before: q.SeqCursor(), Limit: q.Limit(),
	}
	e.From, e.To = timeRangeOf(q, h.cfg.Clock.Now())
	return journal.WritePage(req, h.cfg.Journal, q, &e, jsonform.AppendEntry)
}

// timeRangeOf returns the requested time range, including both bounds.
func timeRangeOf(q *web.Query, now time.Time) (from, to ledger.Micros) {
	from, to = q.Instant("from", 0), q.UpTo("to", now)
	if from > to {
		q.Problems.Add("to", "to must not be before from")
	}
	return from, to
}

// listEvents is GET /ledger/events: every transition, newest first. A partner sees those that
// moved its own money.
func (h *Handlers) listEvents(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx, "source", "limit", "cursor")
	e := journal.EventQuery{Entries: req.Principal.Partner != nil, Who: &req.Principal, To: web.Forever, Before: q.SeqCursor(), Limit: q.Limit()}
	return journal.WritePage(req, h.cfg.Journal, q, &e, jsonform.AppendEvent)
}

// readEntry is GET /ledger/entries/{seq}.
func (h *Handlers) readEntry(req *web.Request) error {
	text := req.Parameter("seq")
	seq, err := strconv.ParseUint(text, 10, 63)
	if err != nil || strconv.FormatUint(seq, 10) != text {
		return web.NotFound()
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	e, _, found, err := view.Event(req.Principal.Org, seq)
	if err != nil {
		return err
	}
	if !found || e.Entry == nil || !journal.SeesAny(&req.Principal, e.Entry) {
		return web.NotFound()
	}
	b, err := journal.NewBalances(view, &req.Principal, []ledger.Event{e})
	if err != nil {
		return err
	}
	var out schema.Encoder
	out.Open('{')
	out.OpenField("data", '{')
	jsonform.AppendEntry(&out, &e, b[0])
	out.Close('}')
	out.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, out.Buf)
	return nil
}
