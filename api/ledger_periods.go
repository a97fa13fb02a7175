package api

import (
	"encoding/hex"

	"github.com/gofiber/fiber/v2"

	periodactor "mizan/actors/period"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/period"
)

// Periods closes an organization's months; *period.Service of actors is one. Its errors
// are *ledger.Refusal, but for what the store can't read.
type Periods interface {
	Close(periodactor.Close) (periodactor.Result, error)
}

// periodsPath begins the addresses of closed months.
const periodsPath = "/api/v1/ledger/periods"

// closers may close a month.
var closers = []directory.Role{directory.Admin}

// periodRoutes are those of closed months.
func (h *Server) periodRoutes() []route {
	routes := []route{{method: fiber.MethodGet, path: periodsPath, access: auditor, handle: (*Server).listPeriods}}
	if h.cfg.Periods != nil {
		routes = append(routes, route{
			method: fiber.MethodPost, path: periodsPath + "/:month/close", access: session, roles: closers, command: true, handle: (*Server).closePeriod, // the body may be absent
		})
	}
	return routes
}

// listPeriods is GET /ledger/periods: the months that are closed, the last one first.
func (h *Server) listPeriods(req *call) error {
	q := queryOf(req.RequestCtx, "limit", "cursor")
	limit, before := q.limit(), q.month()
	if err := q.problems.err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	l, next := newList(), ""
	var last period.Month
	err := view.Periods(req.who.Org, before, func(r *period.Record) (bool, error) {
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
func (q *query) month() period.Month {
	said, sent := q.values["cursor"]
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
func (h *Server) closePeriod(req *call) error {
	m, ok := period.Parse(req.parameter("month"))
	if !ok {
		return ledger.RefuseField("api.closePeriod", period.Field, "must be a month, yyyy-mm")
	}
	key, _, err := h.written(req)
	if err != nil {
		return err
	}
	result, err := h.cfg.Periods.Close(periodactor.Close{Org: req.who.Org, Month: m, By: h.closer(req), Key: key})
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
func (h *Server) closer(req *call) period.By {
	by := period.By{Session: req.who.Session.ID, User: req.who.Session.User}
	if user, found := h.cfg.Directory.User(req.who.Org, by.User); found {
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
