package turnover

import (
	"maps"
	"slices"

	"mizan/ledger"
)

// StoreSome writes some of the days that are in memory, as a run that a crash interrupts would do.
func (c *Counter) StoreSome(org ledger.ID, count int) error {
	p := c.organizations[org]
	places := slices.Collect(maps.Keys(p.days))
	return c.storeDays(org, p, places[:min(count, len(places))])
}

// InMemory returns how many days and events are in memory only.
func (c *Counter) InMemory() (days, events int) {
	return c.days, c.unstored
}

// BoundDays sets the maximum of days in memory.
func (c *Counter) BoundDays(n int) { c.maxDays = n }
