package api

import (
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/ledger"
	"mizan/posting"
)

// readStatement is GET /ledger/accounts/{path}/postings: one account's lines,
// newest first, each with the balance after it.
func (h *Server) readStatement(req *call) error {
	q := newAccountQuery(req, "currency", "network", "env", "from", "to", "limit", "cursor")
	cursor := statementCursor(q.query)
	q.path = ledger.Path(req.parameter("path"))
	from, to := q.window(h.cfg.Clock.Now())
	if err := q.problems.err(); err != nil {
		return err
	}
	if !q.path.Valid() || !req.who.Sees(q.path) {
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
	err = view.LinesUntil(req.who.Org, account, to, cursor.before(), func(line posting.Line) (bool, error) {
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
		e, _, _, err := view.Event(req.who.Org, line.Seq)
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
func (q *accountQuery) soleAsset(view *posting.View, req *call) (ledger.Account, error) {
	var found []ledger.Account
	err := eachAccount(view, &req.who, q, func(a ledger.Account) (bool, error) {
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
	if _, said := q.values["currency"]; said {
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

// lineCursor names the last line of the page before. An entry may have several
// lines on one account, so its seq alone would not do.
type lineCursor struct {
	seq   uint64
	index int
}

func statementCursor(q *query) (at lineCursor) {
	said, sent := q.values["cursor"]
	if !sent {
		return at
	}
	seq, index, _ := strings.Cut(said, ".")
	var err, bad error
	at.seq, err = strconv.ParseUint(seq, 10, 63)
	at.index, bad = strconv.Atoi(index)
	if err != nil || bad != nil || at.seq == 0 || at.index < 0 {
		q.badCursor()
		return lineCursor{}
	}
	return at
}

// before is where to begin reading: after the cursor's own entry, whose
// remaining lines are still to come.
func (at lineCursor) before() uint64 {
	if at.seq == 0 {
		return 0
	}
	return at.seq + 1
}

// passed tells whether the line was on an earlier page. Lines of one entry come
// with the last index first.
func (at lineCursor) passed(l *posting.Line) bool {
	return at.seq != 0 && (l.Seq > at.seq || l.Seq == at.seq && l.Index >= at.index)
}
