package journal

import (
	"strconv"
	"strings"
	"time"

	"mizan/api/web"
	"mizan/ledger"
	"mizan/posting"
)

// LineCursor names the last line on the previous page of an account's lines: Seq is the sequence
// number of the line's entry, and Index is the index of the line's posting in the entry.
type LineCursor struct {
	Seq   uint64
	Index int
}

// ReadLineCursor returns the cursor in a request's query, or the zero value if the query has none.
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
		q.RefuseCursor()
		return LineCursor{}
	}
	return at
}

// Before returns a bound: the entries of the next page have a lower seq. The cursor's own entry is below the bound too,
// because some of its lines may belong to the next page. If there is no previous page, Before returns 0, and the page begins
// with the newest entry.
func (at LineCursor) Before() uint64 {
	if at.Seq == 0 {
		return 0
	}
	return at.Seq + 1
}

// IsPast tells whether a line was on an earlier page. Among the lines of one entry the highest
// index comes first.
func (at LineCursor) IsPast(l *posting.Line) bool {
	return at.Seq != 0 && (l.Seq > at.Seq || l.Seq == at.Seq && l.Index >= at.Index)
}

// LastBooked returns the booked time of an organization's newest event, or now if the organization has no event.
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
