package journal

import (
	"strconv"
	"strings"
	"time"

	"mizan/api/web"
	"mizan/ledger"
	"mizan/posting"
)

// LineCursor names the last line of the previous page. An entry may have several lines on
// one account, so the seq alone does not name a line.
type LineCursor struct {
	Seq   uint64
	Index int
}

// ReadLineCursor reads a query's cursor; the zero value if none was sent.
func ReadLineCursor(q *web.Query) (at LineCursor) {
	text, sent := q.Sent("cursor")
	if !sent {
		return at
	}
	seq, index, _ := strings.Cut(text, ".")
	var err, indexErr error
	at.Seq, err = strconv.ParseUint(seq, 10, 63)
	at.Index, indexErr = strconv.Atoi(index)
	if err != nil || indexErr != nil || at.Seq == 0 || at.Index < 0 {
		q.BadCursor()
		return LineCursor{}
	}
	return at
}

// Before returns the seq below which to read: just above the cursor's own entry, which may have
// further lines. 0: from the newest.
func (at LineCursor) Before() uint64 {
	if at.Seq == 0 {
		return 0
	}
	return at.Seq + 1
}

// Passed tells whether a line was on an earlier page. Among the lines of one entry the highest
// index comes first.
func (at LineCursor) Passed(l *posting.Line) bool {
	return at.Seq != 0 && (l.Seq > at.Seq || l.Seq == at.Seq && l.Index >= at.Index)
}

// LastBooked returns the booked time of an organization's newest event; now if it has none.
func LastBooked(view *posting.View, org ledger.ID, now time.Time) (ledger.Micros, error) {
	seq, _, err := view.Head(org)
	if err != nil {
		return 0, err
	}
	e, _, found, err := view.Event(org, seq)
	if err != nil || !found {
		return ledger.MicrosOf(now), err
	}
	return e.Booked, nil
}
