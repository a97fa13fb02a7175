package locale

import (
	"fmt"
	"strconv"
	"time"
)

// Date formats an instant for a receipt: "August 5, 2026, 14:07 UTC". In every language the calendar is Gregorian and the time
// zone is UTC.
func (l *Locale) Date(at time.Time) string {
	return fill(l.words.Moment, append(l.dayOf(at, &l.words.Months), l.timeOf(at)...)...)
}

// ShortDate formats the date of an instant for a table, with a short name of the month: "Aug 5, 2026". The calendar is
// Gregorian and the time zone is UTC.
func (l *Locale) ShortDate(at time.Time) string {
	return fill(l.words.ShortDate, l.dayOf(at, &l.words.ShortMonths)...)
}

// ShortDateTime is like ShortDate, but adds the time: "Aug 5, 2026, 14:07 UTC".
func (l *Locale) ShortDateTime(at time.Time) string {
	return fill(l.words.ShortDateTime, append(l.timeOf(at), "date", l.ShortDate(at))...)
}

// dayOf returns the placeholders of a date and their values, for fill.
func (l *Locale) dayOf(at time.Time, months *[12]string) []string {
	at = at.UTC()
	number := func(n int) string { return l.format.withDigits(strconv.Itoa(n)) }
	return []string{"d", number(at.Day()), "month", months[at.Month()-1], "y", number(at.Year())}
}

// timeOf returns the placeholders of a time of day and their values, for fill.
func (l *Locale) timeOf(at time.Time) []string {
	at = at.UTC()
	twoDigits := func(n int) string { return l.format.withDigits(fmt.Sprintf("%02d", n)) }
	return []string{"hour", twoDigits(at.Hour()), "minute", twoDigits(at.Minute())}
}

// Left formats a remaining time in whole minutes, or in whole seconds below a minute. The time is rounded down, so that a page
// never shows more time than is left.
func (l *Locale) Left(d time.Duration) string {
	if d >= time.Minute {
		return l.Count(l.words.MinutesLeft, int(d/time.Minute))
	}
	return l.Count(l.words.SecondsLeft, int(d/time.Second))
}
