package web

import (
	"strings"
	"time"

	"mizan/ledger"
)

// instantLayout is how answers write a time: "2026-09-03T10:15:30.123456+00:00".
const InstantLayout = "2006-01-02T15:04:05.000000-07:00"

// forever is after everything that is booked.
const Forever = ledger.Micros(1<<63 - 1)

// dayOrInstant are the forms of the report's bounds.
const DayOrInstant = "a day, YYYY-MM-DD, or an RFC 3339 time"

// instantLayouts are the forms of ISO 8601, of which a time without an offset is
// taken for UTC; a fraction of the seconds may stand in each.
var instantLayouts = [...]string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04Z07:00",
	"20060102T150405Z0700", "20060102T150405Z07", "2006-01-02T15:04:05", "2006-01-02T15:04",
}

// parseInstant reads a time in one of the forms in which the protocol writes
// them: ISO 8601, or "YYYY-MM-DD HH:MM:SS.ffffff Etc/UTC".
func ParseInstant(text string) (time.Time, bool) {
	if wall, named := strings.CutSuffix(text, " Etc/UTC"); named {
		at, err := time.Parse(time.DateTime, wall)
		return at, err == nil
	}
	// The '+' of an offset that was not escaped in the query arrives as a space.
	text = strings.Replace(text, " ", "+", 1)
	for _, layout := range instantLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// ceiling is the first microsecond that is not before the instant, and not
// before 1970: nothing was booked then, and keys have no sign.
func CeilMicros(at time.Time) ledger.Micros {
	m := ledger.MicrosOf(at)
	if at.Nanosecond()%1_000 != 0 {
		m++
	}
	return max(0, m)
}

// throughNow is an instant up to which is asked. Booked times are strictly increasing,
// so that events which share an instant of the clock are booked microseconds after it.
// A query up to the clock's now therefore covers everything that was booked so far:
// under a clock that stands still nothing just booked is missing. A later instant is
// meant exactly, since it may be the booked time of an event, as an answer shows it.
func ThroughNow(at ledger.Micros, now time.Time) ledger.Micros {
	if at == ledger.MicrosOf(now) {
		return Forever
	}
	return at
}

// parseTime reads an RFC 3339 time of a query, where the '+' of an offset that was not
// escaped arrives as a space: answers write "+00:00".
func ParseTime(text string) (time.Time, error) {
	return time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "+", 1))
}
