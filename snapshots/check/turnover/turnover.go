package turnover

import (
	"bytes"

	"mizan/actors/follower"
	turnoveractor "mizan/actors/turnover"
	"mizan/ledger"
	"mizan/ledger/turnover"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/check/scan"
)

// Check recomputes the daily figures of an organization's partners from the organization's events.
type Check struct {
	*scan.Scan
	organization *scan.Organization
	rows         uint64                       // number of stored rows
	comparedRows uint64                       // number of stored rows that were compared
	countedUpTo  uint64                       // seq up to which the server has counted all events
	lastSeq      uint64                       // seq of the last event
	day          ledger.Date                  // the day that is being counted
	days         map[turnover.PartnerDay]*day // the figures of the day that is being counted
}

// day holds the figures of one partner for one day: the stored figures and the recomputed figures.
type day struct {
	stored     []byte        // the stored row; nil if it does not exist or cannot be read
	row        *turnover.Row // the decoded stored row; empty if stored is nil
	recomputed turnover.Row  // the recomputed row
}

// New returns a Check for one organization. It counts the stored rows and reads the progress row.
func New(s *scan.Scan, o *scan.Organization) *Check {
	c := &Check{Scan: s, organization: o, days: make(map[turnover.PartnerDay]*day)}
	err := c.View.KVKeys(o.ID, turnover.RowPrefix(), nil, func(key []byte) ([]byte, bool, error) {
		if _, err := turnover.ParseKey(key); err == nil {
			c.rows++
		} else if !bytes.Equal(key, turnover.RowPrefix()) {
			c.breach("a row of turnover has the key %x", key)
		}
		return nil, true, c.Interrupted()
	})
	row, found, readErr := c.View.KV(o.ID, turnover.RowPrefix())
	if err == nil {
		err = readErr
	}
	if err == nil && found {
		c.countedUpTo, err = turnover.DecodePosition(row)
	}
	if err != nil && c.Ctx.Err() == nil {
		c.breach("%v", err)
	}
	return c
}

func (c *Check) breach(format string, args ...any) {
	c.Report.Breach(findings.RuleTotals, "organization %v: "+format, append([]any{c.organization.ID}, args...)...)
}

// Follow adds an event to the recomputed figures of its day. Events must be passed in order.
func (c *Check) Follow(e *ledger.Event) {
	c.lastSeq = e.Seq
	if c.rows == 0 && e.Seq > c.countedUpTo || e.Source.Kind != ledger.Transaction || !turnover.IsCounted(e.Name) {
		return
	}
	item, err := c.itemOf(e)
	if err != nil {
		c.breach("turnover of event %d: %v", e.Seq, err)
		return
	}
	if item.Day != c.day {
		c.compare()
		c.day = item.Day
	}
	d := c.days[item.PartnerDay]
	if d == nil {
		d = c.read(item.PartnerDay)
		c.days[item.PartnerDay] = d
	}
	switch {
	case e.Seq <= d.row.Seq:
		d.recomputed.Seq = e.Seq
		err = d.recomputed.Day.AddItem(&item)
	case e.Seq <= c.countedUpTo:
		c.breach("turnover of partner %d on %v lacks event %d", item.Partner, item.Day, e.Seq)
	}
	if err != nil {
		c.breach("turnover of event %d: %v", e.Seq, err)
	}
}

// itemOf returns what an event contributes to the figures of its day.
func (c *Check) itemOf(e *ledger.Event) (item turnover.Item, err error) {
	t, err := follower.ReadTransaction(c.View, c.organization.ID, e.Source.ID)
	if err != nil {
		return item, err
	}
	return turnoveractor.ItemOf(c.View, c.organization.ID, e, t)
}

// read reads the stored row of a place (a partner and a day).
func (c *Check) read(place turnover.PartnerDay) *day {
	d := &day{row: new(turnover.Row), recomputed: turnover.Row{Day: make(turnover.Day)}}
	stored, found, err := c.View.KV(c.organization.ID, place.Key())
	if err == nil && found {
		c.comparedRows++
		var row *turnover.Row
		if row, err = turnover.Decode(stored); err == nil {
			d.stored, d.row = bytes.Clone(stored), row
		}
	}
	if err != nil {
		c.breach("turnover of partner %d on %v: %v", place.Partner, place.Day, err)
	}
	return d
}

// compare compares the recomputed rows of the current day with the stored rows.
func (c *Check) compare() {
	for place, d := range c.days {
		if d.stored != nil && !bytes.Equal(d.recomputed.Encode(), d.stored) {
			c.breach("turnover of partner %d on %v differs from what its events give", place.Partner, place.Day)
		}
	}
	clear(c.days)
}

// End is called after the last event. It compares the last day. It also reports stored rows for days without events, and a
// progress row that names an event that does not exist.
func (c *Check) End() {
	c.compare()
	c.Report.Count(findings.RuleTotals, c.rows)
	if c.comparedRows != c.rows {
		c.breach("%d rows of turnover are of days on which nothing is counted", c.rows-c.comparedRows)
	}
	if c.countedUpTo > c.lastSeq {
		c.breach("turnover is counted up to event %d, which does not exist", c.countedUpTo)
	}
}
