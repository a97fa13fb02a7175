package turnover

import (
	"slices"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/turnover"
)

// Query selects the days of a partner that Read returns.
type Query struct {
	Org      ledger.ID
	Env      money.Env
	Partner  int64
	From, To ledger.Date // both included
}

// DatedFigures contains a partner's figures of one day.
type DatedFigures struct {
	Date ledger.Date
	turnover.Day
}

// Read returns the days of a partner that have figures, in ascending order. If only a few events of the organization are not
// counted yet, Read counts them first. asOf is the booked time of the organization's last counted event.
func (c *Counter) Read(q Query) (days []DatedFigures, asOf ledger.Micros, err error) {
	if err := c.follower.CatchUp(c, q.Org); err != nil {
		return nil, 0, err
	}
	unstored, asOf, hasBegun := c.unstoredOf(&q)
	view := c.follower.View() // opened after the memory was read, so that days stored meanwhile are in the view's rows
	defer view.Close()
	if !hasBegun {
		if _, asOf, err = storedProgress(view, q.Org); err != nil {
			return nil, 0, err
		}
	}
	from := turnover.PartnerDay{Env: q.Env, Partner: q.Partner, Day: q.From}.Key()
	err = view.KVsAscending(q.Org, turnover.PartnerRowPrefix(q.Env, q.Partner), from, func(key, stored []byte) (bool, error) {
		place, err := turnover.ParseKey(key)
		if err != nil || place.Day > q.To {
			return false, err
		}
		row, err := turnover.Decode(stored)
		if err != nil {
			return false, err
		}
		if inMemory := unstored[place.Day]; inMemory != nil && inMemory.since == row.Seq {
			err = row.Day.Add(inMemory.day)
		}
		delete(unstored, place.Day)
		days = append(days, DatedFigures{place.Day, row.Day})
		return true, err
	})
	for date, inMemory := range unstored {
		days = append(days, DatedFigures{date, inMemory.day})
	}
	slices.SortFunc(days, func(a, b DatedFigures) int { return int(a.Date - b.Date) })
	return days, asOf, err
}

// unstoredOf returns copies of the selected days' counts that are not stored yet. Before the first run, hasBegun is false.
func (c *Counter) unstoredOf(q *Query) (copies map[ledger.Date]*unstoredDay, asOf ledger.Micros, hasBegun bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	p := c.organizations[q.Org]
	if p == nil {
		return nil, 0, false
	}
	copies = make(map[ledger.Date]*unstoredDay)
	for date := q.From; date <= q.To; date++ {
		if inMemory := p.days[turnover.PartnerDay{Env: q.Env, Partner: q.Partner, Day: date}]; inMemory != nil {
			copied := make(turnover.Day)
			_ = copied.Add(inMemory.day) // cannot overflow, because copied is empty
			copies[date] = &unstoredDay{since: inMemory.since, day: copied}
		}
	}
	return copies, p.booked, true
}
