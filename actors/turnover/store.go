package turnover

import (
	"errors"
	"maps"
	"slices"

	"mizan/ledger"
	"mizan/ledger/turnover"
	"mizan/posting"
)

// maxRows bounds the rows in a Change, so that the group of changes that become durable together stays short.
const maxRows = 256

// isTimeToStore tells whether each row to be written would include enough new events, or there are
// more days in memory than allowed.
func (c *Counter) isTimeToStore() bool {
	return c.unstored > 0 && c.unstored >= c.minUnstored+c.minUnstored*c.days/manyDays || c.days > c.maxDays
}

// Flush implements follower.Consumer: if isTimeToStore, it writes the counts that are only in memory.
func (c *Counter) Flush() (err error) {
	if !c.isTimeToStore() {
		return nil
	}
	for org, p := range c.organizations {
		if c.follower.IsElsewhere(org) {
			c.forgetOrganization(org, p)
			continue
		}
		if p.unstored > 0 {
			err = errors.Join(err, c.storeOrganization(org, p))
		}
	}
	return err
}

// forgetOrganization drops the counts of an organization that was moved to another store.
func (c *Counter) forgetOrganization(org ledger.ID, p *progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unstored -= p.unstored
	c.days -= len(p.days)
	delete(c.organizations, org)
}

// storeOrganization writes the days of an organization, and then its progress row.
func (c *Counter) storeOrganization(org ledger.ID, p *progress) error {
	for places := range slices.Chunk(slices.Collect(maps.Keys(p.days)), maxRows) {
		if err := c.storeDays(org, p, places); err != nil {
			return err
		}
	}
	key, row := turnover.EncodePosition(p.seq)
	if err := c.follower.Submit([]posting.KV{{Org: org, Key: key, Value: row}}); err != nil {
		return err
	}
	c.unstored -= p.unstored
	p.unstored = 0
	return nil
}

// storeDays adds the counts in memory to the stored rows of these days. Once the rows are durable, it
// drops the days from memory.
func (c *Counter) storeDays(org ledger.ID, p *progress, places []turnover.PartnerDay) error {
	view := c.follower.View()
	defer view.Close()
	rows := make([]posting.KV, len(places))
	for i, place := range places {
		row, err := storedRow(view, org, place)
		if err == nil {
			err = row.Day.Add(p.days[place].day)
		}
		if err != nil {
			return err
		}
		row.Seq = p.days[place].last
		rows[i] = posting.KV{Org: org, Key: place.Key(), Value: row.Encode()}
	}
	if err := c.follower.Submit(rows); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, place := range places {
		delete(p.days, place)
		c.days--
	}
	return nil
}
