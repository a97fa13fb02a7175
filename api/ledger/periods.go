package ledgerapi

import (
	"encoding/hex"

	"github.com/gofiber/fiber/v2"

	periodactor "mizan/actors/period"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/period"
)

// Periods closes an organization's months; *period.Service of package actors/period implements it. Close
// returns a *ledger.Refusal or an error of the store.
type Periods interface {
	Close(periodactor.CloseRequest) (periodactor.Result, error)
}

// listPeriods is GET /ledger/periods: the closed months, the latest first.
func (h *Handlers) listPeriods(req *web.Request) error {
	q := web.QueryOf(req.RequestCtx, "limit", "cursor")
	limit, before := q.Limit(), monthCursor(q)
	if err := q.Problems.Err(); err != nil {
		return err
	}
	view := h.cfg.Journal.View()
	defer view.Close()
	l, next := web.NewList(), ""
	var last period.Month
	err := view.Periods(req.Principal.Org, before, func(r *period.Record) (bool, error) {
		if l.Rows == limit {
			next = last.String()
			return false, nil
		}
		l.Append(periodOf(r))
		last = r.Month
		return true, nil
	})
	if err != nil {
		return err
	}
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, l.Finish("month", next))
	return nil
}

// monthCursor returns the month in the cursor, or 0 if no cursor was sent. The page has only months
// before that month.
func monthCursor(q *web.Query) period.Month {
	text, sent := q.Sent("cursor")
	if !sent {
		return 0
	}
	m, ok := period.Parse(text)
	if !ok {
		q.RefuseCursor()
	}
	return m
}

// closePeriod is POST /ledger/periods/{yyyy-mm}/close. The request needs no body. If there is one, its
// fields are ignored.
func (h *Handlers) closePeriod(req *web.Request) error {
	m, ok := period.Parse(req.Parameter("month"))
	if !ok {
		return ledger.RefuseField("ledger.closePeriod", period.MonthField, "must be a month, yyyy-mm")
	}
	key, err := h.keys.Staff(req)
	if err == nil {
		_, err = req.Input()
	}
	if err != nil {
		return err
	}
	result, err := h.cfg.Periods.Close(periodactor.CloseRequest{Org: req.Principal.Org, Month: m, ClosedBy: h.closedBy(req), Key: key, Author: req.Author()})
	if err != nil {
		return err
	}
	if result.Replay {
		web.MarkReplayed(req)
	}
	web.WriteData(req, fiber.StatusOK, periodOf(result.Record))
	return nil
}

// closedBy describes the caller in the form that is stored with the closed month.
func (h *Handlers) closedBy(req *web.Request) period.ClosedBy {
	caller := period.ClosedBy{Session: req.Principal.Session.ID, User: req.Principal.Session.User}
	if user, found := h.cfg.Authors.User(req.Principal.Org, caller.User); found {
		caller.Login = user.Login
	}
	return caller
}

// closedMonth is a closed month in a response.
type closedMonth struct {
	Month    string      `json:"month"`
	ClosedAt web.Instant `json:"closed_at"`
	ClosedBy closedBy    `json:"closed_by"`
	Seq      uint64      `json:"seq"`
	Hash     string      `json:"hash"` // in hex
	Rows     uint64      `json:"rows"`
}

// closedBy is the caller who closed a month. If the session did not begin with a login, there is no
// user.
type closedBy struct {
	Session ledger.ID  `json:"session_id"`
	User    *ledger.ID `json:"user_id"`
	Login   *string    `json:"login"`
}

func periodOf(r *period.Record) closedMonth {
	closer := closedBy{Session: r.ClosedBy.Session, Login: web.NilIfEmpty(r.ClosedBy.Login)}
	if r.ClosedBy.User != (ledger.ID{}) {
		closer.User = &r.ClosedBy.User
	}
	return closedMonth{r.Month.String(), web.Instant(r.At), closer, r.Seq, hex.EncodeToString(r.BalanceHash[:]), r.Rows}
}
