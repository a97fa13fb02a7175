package api

import (
	"encoding/hex"

	"github.com/gofiber/fiber/v2"

	periodactor "mizan/actors/period"
	"mizan/ledger"
	"mizan/ledger/period"
)

// Periods closes an organization's months; *period.Service of actors is one. Its errors
// are *ledger.Refusal, but for what the store can't read.
type Periods interface {
	Close(periodactor.Close) (periodactor.Result, error)
}

// listPeriods is GET /ledger/periods: the months that are closed, the last one first.
func (h *ledgerHandlers) listPeriods(req *Request) error {
	q := queryOf(req.RequestCtx, "limit", "cursor")
	limit, before := q.limit(), monthCursor(q)
	if err := q.problems.err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	l, next := newList(), ""
	var last period.Month
	err := view.Periods(req.Principal.Org, before, func(r *period.Record) (bool, error) {
		if l.rows == limit {
			next = last.String()
			return false, nil
		}
		l.row()
		appendPeriod(&l.encoder, r)
		l.close('}')
		last = r.Month
		return true, nil
	})
	if err != nil {
		return err
	}
	writeJSON(req.RequestCtx, fiber.StatusOK, l.finish("month", next))
	return nil
}

// month is a cursor of the list: months before it follow. 0: none.
func monthCursor(q *query) period.Month {
	said, sent := q.sent("cursor")
	if !sent {
		return 0
	}
	m, ok := period.Parse(said)
	if !ok {
		q.badCursor()
	}
	return m
}

// closePeriod is POST /ledger/periods/{yyyy-mm}/close. There are no fields to send: a
// body may be absent, and what an object holds is ignored.
func (h *ledgerHandlers) closePeriod(req *Request) error {
	m, ok := period.Parse(req.Parameter("month"))
	if !ok {
		return ledger.RefuseField("api.closePeriod", period.Field, "must be a month, yyyy-mm")
	}
	key, err := h.keys.Staff(req)
	if err == nil {
		_, err = req.Input()
	}
	if err != nil {
		return err
	}
	result, err := h.cfg.Periods.Close(periodactor.Close{Org: req.Principal.Org, Month: m, By: h.closer(req), Key: key})
	if err != nil {
		return err
	}
	if result.Replay {
		replayed(req)
	}
	single(req, fiber.StatusOK, false, result.Record, appendPeriod)
	return nil
}

// closer is who asks, as the closed month will show.
func (h *ledgerHandlers) closer(req *Request) period.By {
	by := period.By{Session: req.Principal.Session.ID, User: req.Principal.Session.User}
	if user, found := h.cfg.Users.User(req.Principal.Org, by.User); found {
		by.Login = user.Login
	}
	return by
}

// appendPeriod writes a closed month.
func appendPeriod(e *encoder, r *period.Record) {
	e.word("month", r.Month.String())
	e.instant("closed_at", r.At)
	e.enter("closed_by", '{')
	e.word("session_id", r.By.Session.String())
	user := ""
	if r.By.User != (ledger.ID{}) {
		user = r.By.User.String()
	}
	e.textOrNull("user_id", user)
	e.textOrNull("login", r.By.Login)
	e.close('}')
	e.integer("seq", int64(r.Seq))
	e.word("hash", hex.EncodeToString(r.Sum[:]))
	e.integer("rows", int64(r.Rows))
}
