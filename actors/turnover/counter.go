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

// Bounds of the counts that are only in memory.
const (
	MinUnstored = 50_000 // number of unstored events from which on rows are written, if few days are in memory
	manyDays    = 2_500  // for each manyDays days of partners in memory, that number rises by MinUnstored
	maxDays     = 50_000 // maximum number of days of partners in memory; if there are more, they are stored
)

// Counter counts the events of transactions as they become durable. It is a consumer of a Follower (package actors/follower).
type Counter struct {
	follower    *follower.Follower
	minUnstored int
	maxDays     int
	total       atomic.Uint64 // events that were counted

	// The Follower calls one method at a time, and only these calls use the fields of this group.
	counted  []countedItem        // memory that Take reuses
	unstored int                  // events that are counted in memory only
	days     int                  // days of partners in memory
	totaled  map[ledger.ID]uint64 // seq of the last event that the total counts, by organization

	mu            sync.RWMutex // guards the organizations, which only the Follower's calls change
	organizations map[ledger.ID]*progress
}

// progress says how far an organization's events are counted, and has the counts that are not stored
// yet.
type progress struct {
	seq      uint64        // seq of the last event that was counted
	booked   ledger.Micros // booked time of that event
	days     map[turnover.Place]*unstoredDay
	unstored int // events that were counted since the last store of all days
}

// unstoredDay has the counts of a partner's day that are not in the day's row yet.
type unstoredDay struct {
	since uint64 // Seq of the day's row; 0: there is no row
	last  uint64 // seq of the last event that was counted
	day   turnover.Day
}

// countedItem is the contribution of one event to a partner's daily figures, and the event's seq.
type countedItem struct {
	turnover.Item
	seq uint64
}

// New returns a Counter of the events that the follower reads. minUnstored is usually MinUnstored.
func New(f *follower.Follower, minUnstored int) *Counter {
	c := &Counter{follower: f, minUnstored: minUnstored, maxDays: maxDays, totaled: make(map[ledger.ID]uint64), organizations: make(map[ledger.ID]*progress)}
	f.Add(c)
	return c
}

// Counted returns how many events were counted since the start.
func (c *Counter) Counted() uint64 { return c.total.Load() }

// Lag returns how many events the last run left uncounted.
func (c *Counter) Lag() uint64 { return c.follower.Lag(c) }

// Name implements follower.Consumer.
func (c *Counter) Name() string { return "turnover" }

// Position implements follower.Consumer.
func (c *Counter) Position(view *posting.View, org ledger.ID) (uint64, error) {
	if p := c.organizations[org]; p != nil {
		return p.seq, nil
	}
	p := &progress{days: make(map[turnover.Place]*unstoredDay)}
	var err error
	if p.seq, p.booked, err = storedProgress(view, org); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.organizations[org] = p
	return p.seq, nil
}

// storedProgress returns the seq and booked time of the last event up to which the stored rows count
// all events; 0 if no rows are stored.
func storedProgress(view *posting.View, org ledger.ID) (seq uint64, booked ledger.Micros, err error) {
	row, found, err := view.KV(org, turnover.Rows())
	if err != nil || !found {
		return 0, 0, err
	}
	if seq, err = turnover.DecodeCounted(row); err != nil {
		return 0, 0, err
	}
	e, _, found, err := view.Event(org, seq)
	if err == nil && !found {
		err = errors.New("turnover is counted up to an event that does not exist")
	}
	return seq, e.Booked, err
}

// Take implements follower.Consumer: it counts the chunk's events.
func (c *Counter) Take(chunk *follower.Chunk) error {
	p := c.organizations[chunk.Org]
	c.counted = c.counted[:0]
	for i := range chunk.Events {
		e := &chunk.Events[i]
		if !turnover.Counts(e.Name) {
			continue
		}
		item, err := itemOf(chunk, e)
		if err != nil {
			return err
		}
		c.counted = append(c.counted, countedItem{item, e.Seq})
	}
	since, err := sinceOf(chunk, p, c.counted)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for place, seq := range since {
		p.days[place] = &unstoredDay{since: seq, last: seq, day: make(turnover.Day)}
		c.days++
	}
	for i := range c.counted {
		item := &c.counted[i]
		day := p.days[item.Place]
		if item.seq <= day.last { // the day's row was written before a crash, and counts the event already
			continue
		}
		if err := day.day.AddItem(&item.Item); err != nil {
			c.forget(chunk.Org, p)
			return err
		}
		day.last = item.seq
		p.unstored++
		c.unstored++
		if item.seq > c.totaled[chunk.Org] { // otherwise the total has counted the event already, before a call of forget
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

// sinceOf returns the Seq of the stored row of each counted day that is not in memory yet.
func sinceOf(chunk *follower.Chunk, p *progress, counted []countedItem) (map[turnover.Place]uint64, error) {
	since := make(map[turnover.Place]uint64)
	for i := range counted {
		place := counted[i].Place
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

// storedRow returns the stored row of a day, or a row without figures if none is stored.
func storedRow(view *posting.View, org ledger.ID, place turnover.Place) (*turnover.Row, error) {
	stored, found, err := view.KV(org, place.Key())
	if err != nil || !found {
		return &turnover.Row{Day: make(turnover.Day)}, err
	}
	return turnover.Decode(stored)
}
