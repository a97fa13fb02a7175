package api

import (
	"strconv"
	"strings"
	"time"

	"mizan/ledger"
	"mizan/posting"
)

// lineCursor names the last line of the page before. An entry may have several
// lines on one account, so its seq alone would not do.
type lineCursor struct {
	seq   uint64
	index int
}

func statementCursor(q *query) (at lineCursor) {
	said, sent := q.sent("cursor")
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

// lastBooked is the booked time of an organization's newest event; without one
// it is the time now.
func lastBooked(view *posting.View, org ledger.ID, now time.Time) (ledger.Micros, error) {
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
