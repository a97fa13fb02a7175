package admin

import (
	"errors"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"mizan/api/web"
	"mizan/internal/clock"
	"mizan/internal/jsonwalk"
	"mizan/ledger"
)

// Bounds of the sandbox's clock, which an operator moves: the longest single move by advance_seconds, and the last year.
// The clock never reaches 9999, which is the last year of RFC 3339, because the times of events and of due work may be
// later than the clock.
const (
	maxAdvance = 100 * 365 * 24 * time.Hour
	lastYear   = 9998
)

// readClock serves GET /sandbox/clock.
func (h *Handlers) readClock(req *web.Request) error {
	h.writeNow(req)
	return nil
}

// moveClock serves PUT /sandbox/clock with body {"now": RFC 3339} or {"advance_seconds": N}. It responds when all
// work that became due by the move is done. The route is not a command, because moveClock waits until all
// commands have ended, so it would wait for itself.
func (h *Handlers) moveClock(req *web.Request) error {
	body, err := req.Object()
	if err != nil {
		return err
	}
	h.clockMoves.Lock() // one move at a time, because advance_seconds counts from the result of the previous move
	defer h.clockMoves.Unlock()
	to, err := h.requestedInstant(body)
	if err == nil {
		err = h.cfg.Advance(to)
	}
	if errors.Is(err, clock.ErrBackwards) {
		return ledger.Refuse("admin.moveClock", ledger.Conflict, "the clock never moves back")
	}
	if err != nil {
		return err
	}
	h.writeNow(req)
	return nil
}

// requestedInstant returns the time to which the request's body asks to move the clock.
func (h *Handlers) requestedInstant(body []byte) (to time.Time, err error) {
	const op = "admin.moveClock"
	now, seconds := web.Member(body, "now"), web.Member(body, "advance_seconds")
	field := "now"
	switch {
	case now != nil && seconds != nil:
		return to, ledger.RefuseField(op, "now", "send either now or advance_seconds")
	case now != nil:
		text, _ := jsonwalk.Text(now)
		if to, err = time.Parse(time.RFC3339Nano, string(text)); err != nil {
			return to, ledger.RefuseField(op, "now", "now must be an RFC 3339 time")
		}
	case seconds != nil:
		n, err := strconv.ParseInt(string(seconds), 10, 64)
		if err != nil || n > int64(maxAdvance/time.Second) {
			return to, ledger.RefuseField(op, "advance_seconds", "advance_seconds must be a whole number of seconds")
		}
		if n < 0 {
			return to, clock.ErrBackwards
		}
		field = "advance_seconds"
		to = h.cfg.Clock.Now().Add(time.Duration(n) * time.Second)
	default:
		return to, ledger.RefuseField(op, "now", "now or advance_seconds is required")
	}
	if to = to.UTC(); to.Year() < 1970 || to.Year() > lastYear {
		return to, ledger.RefuseField(op, field, "the clock ends with the year %d", lastYear)
	}
	return to, nil
}

// clockResponse is the response with the time of the sandbox's clock.
type clockResponse struct {
	Now web.Instant `json:"now"`
}

func (h *Handlers) writeNow(req *web.Request) {
	web.WriteJSON(req.RequestCtx, fiber.StatusOK, web.Marshal(clockResponse{web.Instant(ledger.MicrosOf(h.cfg.Clock.Now()))}))
}
