package web

import (
	"strings"
	"time"

	"mizan/ledger"
)

// Forever is later than every booked time (the time of an event in the journal).
const Forever = ledger.Micros(1<<63 - 1)

// DayOrInstant is the description of a parameter that may be a day or a time, for refusals.
const DayOrInstant = "a day, YYYY-MM-DD, or an RFC 3339 time"

// instantLayouts are the accepted forms of ISO 8601. A time without an offset is UTC, and seconds
// may have a fraction.
var instantLayouts = [...]string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04Z07:00",
	"20060102T150405Z0700", "20060102T150405Z07", "2006-01-02T15:04:05", "2006-01-02T15:04",
}

// ParseInstant parses a time in one of the formats that the protocol allows: ISO 8601, or "YYYY-MM-DD
// HH:MM:SS.ffffff Etc/UTC".
func ParseInstant(text string) (time.Time, bool) {
	if wallTime, hasZone := strings.CutSuffix(text, " Etc/UTC"); hasZone {
		at, err := time.Parse(time.DateTime, wallTime)
		return at, err == nil
	}
	// The '+' of an offset arrives as a space if the client did not escape it.
	text = strings.Replace(text, " ", "+", 1)
	for _, layout := range instantLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// RoundUpToMicros rounds the instant up to a microsecond. If the instant is before 1970, it returns 0,
// because nothing was booked before 1970, and the store's keys are unsigned.
func RoundUpToMicros(at time.Time) ledger.Micros {
	m := ledger.MicrosOf(at)
	if at.Nanosecond()%1_000 != 0 {
		m++
	}
	return max(0, m)
}

// ThroughNow returns an inclusive upper bound unchanged, or Forever if the bound is the clock's current time.
// Booked times strictly increase. So if several events occur while the clock shows the same instant, only the
// first is booked at that instant, and the others microseconds later. A query up to now must find all these
// events. A bound after now is returned unchanged, because it may be a booked time from an earlier response.
func ThroughNow(at ledger.Micros, now time.Time) ledger.Micros {
	if at == ledger.MicrosOf(now) {
		return Forever
	}
	return at
}

// ParseTime parses an RFC 3339 time in a query. The '+' of an offset arrives as a space if the
// client did not escape it.
func ParseTime(text string) (time.Time, error) {
	return time.Parse(time.RFC3339Nano, strings.Replace(text, " ", "+", 1))
}
