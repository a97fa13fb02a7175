package ledgerapi

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/api/web/journal"
	"mizan/ledger"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/ledger/schema"
)

// listEntries is GET /ledger/entries: events that carry an entry, newest first.
func (h *Handlers) listEntries(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx, "source", "account", "event", "env", "from", "to", "limit", "cursor")
	e := journal.EventQuery{
		Entries: true, Caller: &req.Principal, Env: q.Env(), Account: ledger.Path(q.Text("account")), Name: q.Text("event"),
		Before: q.SeqCursor(), Limit: q.Limit(),
	}
	e.From, e.To = timeRangeOf(q, h.cfg.Clock.Now())
	return journal.WritePage(req, h.cfg.Journal, h.cfg.Authors, q, &e, (*journal.Row).AppendEntry)
}

// timeRangeOf returns the first and the last instant of the requested time range.
func timeRangeOf(q *web.Query, now time.Time) (from, to ledger.Micros) {
	from, to = q.Instant("from", 0), q.UpperBound("to", now)
	if from > to {
		q.Problems.Add("to", "to must not be before from")
	}
	return from, to
}

// administration is the value of the parameter kind that selects changes of the administration's records, such as
// users and keys.
const administration = "administration"

// anyOrAuthors are the allowed values of the parameter author: empty for any author, and the words for the kinds of
// authors.
var anyOrAuthors = func() []string {
	words := []string{""}
	for _, kind := range ledger.AuthorKinds() {
		words = append(words, kind.String())
	}
	return words
}()

// listEvents is GET /ledger/events: every transition, newest first. A partner sees the events that moved its own
// money. If the request names one of the partner's transactions, the partner sees all events of that transaction.
func (h *Handlers) listEvents(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx, "source", "author", "kind", "limit", "cursor")
	e := journal.EventQuery{Entries: req.Principal.Partner != nil, Caller: &req.Principal, To: web.Forever, Before: q.SeqCursor(), Limit: q.Limit()}
	e.Author, _ = ledger.AuthorKindOf(q.Choice("author", anyOrAuthors...))
	e.OnlyAdministration = q.Choice("kind", "", administration) != ""
	if id, sent := q.ID("source"); sent && e.Entries {
		isOwn, err := h.isOwnTransaction(req, id)
		if err != nil {
			return err
		}
		e.Entries = !isOwn
	}
	return journal.WritePage(req, h.cfg.Journal, h.cfg.Authors, q, &e, (*journal.Row).AppendEvent)
}

// isOwnTransaction tells whether an id belongs to a transaction of the calling partner.
func (h *Handlers) isOwnTransaction(req *web.Request, id ledger.ID) (bool, error) {
	view := h.cfg.Journal.View()
	defer view.Close()
	stored, found, err := view.Record(req.Principal.Org, ledger.Source{Kind: ledger.Transaction, ID: id})
	if err != nil || !found {
		return false, err
	}
	record, err := paymentcodec.Decode(stored.Payload)
	return err == nil && record.Partner == req.Principal.Partner.Number, err
}

// readEntry is GET /ledger/entries/{seq}.
func (h *Handlers) readEntry(req *web.Request) error {
	return h.readOne(req, (*journal.Row).AppendEntry, func(e *ledger.Event) (bool, error) {
		return e.Entry != nil && journal.SeesAny(&req.Principal, e.Entry), nil
	})
}

// readEvent is GET /ledger/events/{seq}. A partner may read the same events here as in lists.
func (h *Handlers) readEvent(req *web.Request) error {
	return h.readOne(req, (*journal.Row).AppendEvent, func(e *ledger.Event) (bool, error) {
		if req.Principal.Partner == nil || e.Entry != nil && journal.SeesAny(&req.Principal, e.Entry) {
			return true, nil
		}
		if e.Source.Kind != ledger.Transaction {
			return false, nil
		}
		return h.isOwnTransaction(req, e.Source.ID)
	})
}

// readOne responds with the event whose seq (sequence number) is in the path. If the caller may not see the event,
// the error is NotFound.
func (h *Handlers) readOne(req *web.Request, appendFields func(*journal.Row, *schema.Encoder), maySee func(*ledger.Event) (bool, error)) error {
	text := req.Parameter("seq")
	seq, err := strconv.ParseUint(text, 10, 63)
	if err != nil || strconv.FormatUint(seq, 10) != text {
		return web.NotFound()
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	e, _, found, err := view.Event(req.Principal.Org, seq)
	if err == nil && found {
		found, err = maySee(&e)
	}
	if err != nil {
		return err
	}
	if !found {
		return web.NotFound()
	}
	rows, err := journal.NewRows(view, &req.Principal, h.cfg.Authors, []ledger.Event{e})
	if err != nil {
		return err
	}
	var out schema.Encoder
	out.Open('{')
	out.OpenField("data", '{')
	appendFields(&rows[0], &out)
	out.Close('}')
	out.Close('}')
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, out.Buf)
	return nil
}
