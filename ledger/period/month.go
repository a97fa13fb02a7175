package period

import (
	"encoding/binary"
	"time"

	"mizan/ledger"
)

// Month is a UTC calendar month: 1 for January 1970, 2 for February 1970 and so on. The zero value
// means no month.
type Month int32

// firstYear and lastYear are the first and the last year of which months are accepted. The same years bound the dates of
// contracts.
const firstYear, lastYear = 1970, 9000

// layout is the text form of a month, as a layout of package time.
const layout = "2006-01"

// Parse parses a month in the form yyyy-mm. It returns false for any other text, and for years outside 1970 to 9000.
func Parse(text string) (Month, bool) {
	at, err := time.Parse(layout, text)
	if err != nil || len(text) != len(layout) || at.Year() < firstYear || at.Year() > lastYear {
		return 0, false
	}
	return MonthOf(ledger.DateOf(at)), true
}

// MonthOf returns the month of a day, which must not be before 1970.
func MonthOf(date ledger.Date) Month {
	at := date.Time()
	return Month((at.Year()-firstYear)*12+int(at.Month()-time.January)) + 1
}

// start returns the month's first instant.
func (m Month) start() time.Time {
	return time.Date(firstYear, time.January+time.Month(m-1), 1, 0, 0, 0, 0, time.UTC)
}

// FirstDay returns the month's first day.
func (m Month) FirstDay() ledger.Date { return ledger.DateOf(m.start()) }

// LastDay returns the month's last day.
func (m Month) LastDay() ledger.Date { return (m + 1).FirstDay() - 1 }

// End returns the first instant of the next month.
func (m Month) End() ledger.Micros { return ledger.MicrosOf((m + 1).start()) }

// String returns yyyy-mm.
func (m Month) String() string { return m.start().Format(layout) }

// Version and variant bits of a UUID of version 8, whose other bits are custom (RFC 9562, section 5.8).
const version8, variant = 0x80, 0x80

// ID returns the id of the month's record, which is the same in every organization: a UUID of version 8 that begins with
// the month's number.
func (m Month) ID() (id ledger.ID) {
	binary.BigEndian.PutUint32(id[:4], uint32(m))
	id[6], id[8] = version8, variant
	return id
}

// Source returns the kind and the id of the month's record in the journal.
func (m Month) Source() ledger.Source { return ledger.Source{Kind: ledger.Period, ID: m.ID()} }

// FromID returns the month whose record has the id. It returns false if the id is not the id of a month.
func FromID(id ledger.ID) (Month, bool) {
	m := Month(binary.BigEndian.Uint32(id[:4]))
	const lastMonth = (lastYear - firstYear + 1) * 12
	return m, m >= 1 && m <= lastMonth && id == m.ID()
}
