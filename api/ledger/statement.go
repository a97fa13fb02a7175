package ledgerapi

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/api/web/journal"
	"mizan/ledger"
	"mizan/posting"
)

// readStatement is GET /ledger/accounts/{path}/postings: the statement of one account, which lists its postings, newest
// first, each with the balance after it.
func (h *Handlers) readStatement(req *web.Request) error {
	q := newAccountQuery(req, "currency", "network", "env", "from", "to", "limit", "cursor")
	cursor := journal.ReadLineCursor(q.Query)
	q.Path = ledger.Path(req.Parameter("path"))
	from, to := timeRangeOf(q.Query, h.cfg.Clock.Now())
	if err := q.Problems.Err(); err != nil {
		return err
	}
	if !q.Path.IsValid() || !req.Principal.MayRead(q.Path) {
		return web.NotFound()
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	q.Prefix = string(q.Path)
	account, err := q.soleAsset(view, req)
	if err != nil {
		return err
	}
	l, next := web.NewList(), ""
	var last posting.Line
	err = view.LinesUntil(req.Principal.Org, account, to, cursor.Before(), func(line posting.Line) (bool, error) {
		if line.Booked < from {
			return false, nil
		}
		if cursor.IsPast(&line) {
			return true, nil
		}
		if l.Rows == q.limit {
			next = strconv.FormatUint(last.Seq, 10) + "." + strconv.Itoa(last.Index)
			return false, nil
		}
		e, _, _, err := view.Event(req.Principal.Org, line.Seq)
		if err != nil {
			return false, err
		}
		appendLine(l, account, &line, &e)
		last = line
		return true, nil
	})
	if err != nil {
		return err
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("seq", next))
	return nil
}

// soleAsset returns the requested account in the only asset that matches the request. If the account has several such assets,
// the error says that the request must name one of them.
func (q *accountQuery) soleAsset(view *posting.View, req *web.Request) (ledger.Account, error) {
	var found []ledger.Account
	err := q.Each(view, &req.Principal, func(a ledger.Account) (bool, error) {
		found = append(found, a)
		return len(found) < 2, nil
	})
	switch {
	case err != nil:
		return ledger.Account{}, err
	case len(found) == 0:
		return ledger.Account{}, web.NotFound()
	case len(found) == 1:
		return found[0], nil
	}
	if q.HasCurrency {
		q.Problems.Add("network", "the account has several networks: send network")
	} else {
		q.Problems.Add("currency", "the account has several assets: send currency")
	}
	return ledger.Account{}, q.Problems
}

// appendLine writes one posting of a statement, with the name of its event and the kind and id of the event's record.
func appendLine(l *web.List, a ledger.Account, line *posting.Line, e *ledger.Event) {
	l.BeginRow()
	l.Integer("seq", int64(line.Seq))
	l.Word("kind", e.Source.Kind.Word())
	l.ID("source", e.Source.ID)
	l.Text("event", e.Name)
	l.Instant("booked_at", line.Booked)
	l.Word("side", line.Side.String())
	l.Amount("amount", line.Amount)
	l.Word("phase", line.Phase.String())
	l.Signed("balance", line.Totals.Balance(a.Path.NormalSide()))
	l.Close('}')
}
