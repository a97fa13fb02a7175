package api

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"mizan/ledger"
	"mizan/posting"
)

// readStatement is GET /ledger/accounts/{path}/postings: one account's lines,
// newest first, each with the balance after it.
func (h *ledgerHandlers) readStatement(req *Request) error {
	q := newAccountQuery(req, "currency", "network", "env", "from", "to", "limit", "cursor")
	cursor := statementCursor(q.query)
	q.path = ledger.Path(req.Parameter("path"))
	from, to := windowOf(q.query, h.cfg.Clock.Now())
	if err := q.problems.err(); err != nil {
		return err
	}
	if !q.path.Valid() || !req.Principal.Sees(q.path) {
		return notFound()
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	q.prefix = string(q.path)
	account, err := q.soleAsset(view, req)
	if err != nil {
		return err
	}
	l, next := newList(), ""
	var last posting.Line
	err = view.LinesUntil(req.Principal.Org, account, to, cursor.before(), func(line posting.Line) (bool, error) {
		if line.Booked < from {
			return false, nil
		}
		if cursor.passed(&line) {
			return true, nil
		}
		if l.rows == q.limit {
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
	writeJSON(req.RequestCtx, fiber.StatusOK, l.finish("seq", next))
	return nil
}

// soleAsset finds the one asset that the account's lines are in; where there are
// several, the caller has to say which.
func (q *accountQuery) soleAsset(view *posting.View, req *Request) (ledger.Account, error) {
	var found []ledger.Account
	err := q.each(view, &req.Principal, func(a ledger.Account) (bool, error) {
		found = append(found, a)
		return len(found) < 2, nil
	})
	switch {
	case err != nil:
		return ledger.Account{}, err
	case len(found) == 0:
		return ledger.Account{}, notFound()
	case len(found) == 1:
		return found[0], nil
	}
	if q.hasCurrency {
		q.problems.add("network", "the account has several networks: send network")
	} else {
		q.problems.add("currency", "the account has several assets: send currency")
	}
	return ledger.Account{}, q.problems
}

// appendLine writes a line, with the record that it is of and what happened to that.
func appendLine(l *list, a ledger.Account, line *posting.Line, e *ledger.Event) {
	l.row()
	l.integer("seq", int64(line.Seq))
	l.id("source", e.Source.ID)
	l.text("event", e.Name)
	l.instant("booked_at", line.Booked)
	l.word("side", line.Side.String())
	l.amount("amount", line.Amount)
	l.word("phase", line.Phase.String())
	l.signed("balance", line.Totals.Balance(a.Path.NormalSide()))
	l.close('}')
}
