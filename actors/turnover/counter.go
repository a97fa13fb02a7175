package turnover

import (
	"errors"
	"sync"
	"sync/atomic"

	"mizan/actors/follower"
	"mizan/ledger"
	"mizan/ledger/turnover"
	"mizan/posting"
)

// The counts in memory are written to the store when one of these bounds is reached.
const (
	MinUnstored = 50_000 // rows are written when there are so many unstored events, if few days are in memory
	manyDays    = 2_500  // for each manyDays days of partners in memory, the required number of events rises by MinUnstored
	maxDays     = 50_000 // maximum number of days of partners in memory; if there are more, they are stored
)

// Counter counts the events of transactions as they become durable. It is a consumer of a Follower (package
// actors/follower), which passes it the journal's events.
type Counter struct {
	follower    *follower.Follower
	minUnstored int
	maxDays     int
	total       atomic.Uint64 // events that were counted

	// Only the methods that the Follower calls use the fields of this group, and the Follower calls one method at a time.
	itemBuffer []countedItem        // memory that Consume reuses
	unstored   int                  // events that are counted in memory only
	days       int                  // days of partners in memory
	totaled    map[ledger.ID]uint64 // seq of the last event that is included in total, by organization

	mu            sync.RWMutex // guards organizations, which only methods that the Follower calls change
	organizations map[ledger.ID]*progress
}

// progress contains the position up to which an organization's events are counted, and the counts that are not stored yet.
type progress struct {
	seq      uint64        // seq of the last event that was counted
	booked   ledger.Micros // booked time of that event
	days     map[turnover.PartnerDay]*unstoredDay
	unstored int // events that were counted since all days were last stored
}

// unstoredDay contains the counts of a partner's day that are not in the stored row of this day yet.
type unstoredDay struct {
	since uint64 // Seq of the day's stored row; 0 if there is no row
	last  uint64 // seq of the last event that was counted
	day   turnover.Day
}

// countedItem is what one event adds to a partner's daily figures, and the event's seq.
type countedItem struct {
	turnover.Item
	seq uint64
}

// New returns a Counter of the events that the follower reads. minUnstored is MinUnstored, except in tests.
func New(f *follower.Follower, minUnstored int) *Counter {
	c := &Counter{follower: f, minUnstored: minUnstored, maxDays: maxDays, totaled: make(map[ledger.ID]uint64), organizations: make(map[ledger.ID]*progress)}
	f.Add(c)
	return c
}

// Counted returns the number of events that were counted since the start.
func (c *Counter) Counted() uint64 { return c.total.Load() }

// Lag returns the number of events that were not counted yet after the last run.
func (c *Counter) Lag() uint64 { return c.follower.Lag(c) }

// Name implements follower.Consumer.
func (c *Counter) Name() string { return "turnover" }

// Position implements follower.Consumer.
func (c *Counter) Position(view *posting.View, org ledger.ID) (uint64, error) {
	if p := c.organizations[org]; p != nil {
		return p.seq, nil
	}
	p := &progress{days: make(map[turnover.PartnerDay]*unstoredDay)}
	var err error
	if p.seq, p.booked, err = storedProgress(view, org); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.organizations[org] = p
	return p.seq, nil
}

// storedProgress returns the seq and the booked time of an event: the stored rows count this event
// and all earlier ones. If no rows are stored, it returns 0.
func storedProgress(view *posting.View, org ledger.ID) (seq uint64, booked ledger.Micros, err error) {
	row, found, err := view.KV(org, turnover.RowPrefix())
	if err != nil || !found {
		return 0, 0, err
	}
	if seq, err = turnover.DecodePosition(row); err != nil {
		return 0, 0, err
	}
	e, _, found, err := view.Event(org, seq)
	if err == nil && !found {
		err = errors.New("turnover is counted up to an event that does not exist")
	}
	return seq, e.Booked, err
}

// Consume implements follower.Consumer: it counts the chunk's events.
func (c *Counter) Consume(chunk *follower.Chunk) error {
	p := c.organizations[chunk.Org]
	c.itemBuffer = c.itemBuffer[:0]
	for i := range chunk.Events {
		e := &chunk.Events[i]
		if !turnover.IsCounted(e.Name) {
			continue
		}
		item, err := itemOf(chunk, e)
		if err != nil {
			return err
		}
		c.itemBuffer = append(c.itemBuffer, countedItem{item, e.Seq})
	}
	since, err := sinceOf(chunk, p, c.itemBuffer)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for place, seq := range since {
		p.days[place] = &unstoredDay{since: seq, last: seq, day: make(turnover.Day)}
		c.days++
	}
	for i := range c.itemBuffer {
		item := &c.itemBuffer[i]
		day := p.days[item.PartnerDay]
		if item.seq <= day.last { // the event is already counted in the day's row, which was written before a crash
			continue
		}
		if err := day.day.AddItem(&item.Item); err != nil {
			c.forget(chunk.Org, p)
			return err
		}
		day.last = item.seq
		p.unstored++
		c.unstored++
		if item.seq > c.totaled[chunk.Org] { // otherwise the event was already counted in total before forget was called
			c.totaled[chunk.Org] = item.seq
			c.total.Add(1)
		}
	}
	p.seq, p.booked = chunk.Last, chunk.Booked
	return nil
}

func itemOf(chunk *follower.Chunk, e *ledger.Event) (item turnover.Item, err error) {
	t, err := chunk.Transaction(e.Source.ID)
	if err != nil {
		return item, err
	}
	return ItemOf(chunk.View, chunk.Org, e, t)
}

// forget drops an organization's counts from memory, so the next run continues from the stored
// progress, and counts the dropped events again.
func (c *Counter) forget(org ledger.ID, p *progress) {
	delete(c.organizations, org)
	c.days -= len(p.days)
	c.unstored -= p.unstored
}

// sinceOf looks for days that have counted items but are not in memory yet. It returns the Seq of the stored row of
// each of these days.
func sinceOf(chunk *follower.Chunk, p *progress, counted []countedItem) (map[turnover.PartnerDay]uint64, error) {
	since := make(map[turnover.PartnerDay]uint64)
	for i := range counted {
		place := counted[i].PartnerDay
		if _, isKnown := since[place]; isKnown || p.days[place] != nil {
			continue
		}
		row, err := storedRow(chunk.View, chunk.Org, place)
		if err != nil {
			return nil, err
		}
		since[place] = row.Seq
	}
	return since, nil
}

// storedRow returns the stored row of a day. If no row is stored, it returns a row without figures.
func storedRow(view *posting.View, org ledger.ID, place turnover.PartnerDay) (*turnover.Row, error) {
	stored, found, err := view.KV(org, place.Key())
	if err != nil || !found {
		return &turnover.Row{Day: make(turnover.Day)}, err
	}
	return turnover.Decode(stored)
}
