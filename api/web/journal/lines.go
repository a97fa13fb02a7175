package journal

import (
	"strconv"
	"strings"
	"time"

	"mizan/api/web"
	"mizan/ledger"
	"mizan/posting"
)

// lineCursor names the last line of the page before. An entry may have several
// lines on one account, so its seq alone would not do.
type LineCursor struct {
	seq   uint64
	Index int
}

func ReadLineCursor(q *web.Query) (at LineCursor) {
	text, sent := q.Sent("cursor")
	if !sent {
		return at
	}
	seq, index, _ := strings.Cut(text, ".")
	var err, bad error
	at.seq, err = strconv.ParseUint(seq, 10, 63)
	at.Index, bad = strconv.Atoi(index)
	if err != nil || bad != nil || at.seq == 0 || at.Index < 0 {
		q.BadCursor()
		return LineCursor{}
	}
	return at
}

// before is where to begin reading: after the cursor's own entry, whose
// remaining lines are still to come.
func (at LineCursor) Before() uint64 {
	if at.seq == 0 {
		return 0
	}
	return at.seq + 1
}

// passed tells whether the line was on an earlier page. Lines of one entry come
// with the last index first.
func (at LineCursor) Passed(l *posting.Line) bool {
	return at.seq != 0 && (l.Seq > at.seq || l.Seq == at.seq && l.Index >= at.Index)
}

// lastBooked is the booked time of an organization's newest event; without one
// it is the time now.
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
