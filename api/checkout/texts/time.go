package texts

import (
	"fmt"
	"strconv"
	"time"
)

// Date writes a moment for a receipt: "August 5, 2026, 14:07 UTC". The calendar is the Gregorian one and the time zone is UTC in
// every language.
func (t *Texts) Date(at time.Time) string {
	at = at.UTC()
	number := func(n int) string { return t.format.withDigits(strconv.Itoa(n)) }
	twoDigits := func(n int) string { return t.format.withDigits(fmt.Sprintf("%02d", n)) }
	return fill(t.Dates.Moment, "d", number(at.Day()), "month", t.Dates.Months[at.Month()-1], "y", number(at.Year()),
		"hour", twoDigits(at.Hour()), "minute", twoDigits(at.Minute()))
}

// Left writes a remaining time in whole minutes, or in whole seconds below a minute. It is rounded down, so that a page never shows
// more time than is left.
func (t *Texts) Left(d time.Duration) string {
	if d >= time.Minute {
		return t.Count(t.Common.MinutesLeft, int(d/time.Minute))
	}
	return t.Count(t.Common.SecondsLeft, int(d/time.Second))
}
