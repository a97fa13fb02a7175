package payment

import (
	"sync"
	"sync/atomic"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// day is what payments of one UTC day under volume limits have in common. Their
// counters' windows are called the same, and limits that take all of a partner's
// payments together bound one like the other, so that this is worked out once.
// What is forgotten is worked out again.
type day struct {
	date ledger.Date
	name string // ledger.DayWindow

	sets sync.Map     // first of a partner's limits (**directory.Limit) → *boundSets
	kept atomic.Int64 // how many are in sets
}

// Bounds of what a day keeps: then it begins anew.
const (
	maxKept = 65_536 // partners, and their limits before each change of them
	maxSets = 16     // of one partner's limits: one an asset, a type and a terminal that limits are on
)

// chosen says which of a partner's limits bound a transaction, by their place.
type chosen [(directory.MaxLimits + 63) / 64]uint64

func (c *chosen) add(i int) { c[i/64] |= 1 << (i % 64) }

func (c *chosen) has(i int) bool { return c[i/64]&(1<<(i%64)) != 0 }

// boundSet is what the chosen limits make of a payment.
type boundSet struct {
	of     chosen
	bounds []payment.Bound // shared
}

// boundSets never change: others take their place.
type boundSets struct{ all []boundSet }

// day is the day of the date: nearly always that of the payment before.
func (s *Service) day(date ledger.Date) *day {
	if last := s.today.Load(); last != nil && last.date == date && last.kept.Load() < maxKept {
		return last
	}
	next := &day{date: date, name: ledger.DayWindow(date)}
	s.today.Store(next)
	return next
}

// bounds are what the chosen ones of a partner's limits bound a payment by, as
// whichever card or payer. The slice of limits never changes, so where it begins
// says which they are.
func (d *day) bounds(limits []*directory.Limit, of *chosen) []payment.Bound {
	var known []boundSet
	kept, found := d.sets.Load(&limits[0])
	if found {
		known = kept.(*boundSets).all
		for i := range known {
			if known[i].of == *of {
				return known[i].bounds
			}
		}
	}
	set := boundSet{of: *of}
	for i, l := range limits {
		if of.has(i) {
			set.bounds = append(set.bounds, boundOf(l, d.name, ""))
		}
	}
	payment.Share(set.bounds)
	if len(known) >= maxSets {
		known = nil
	}
	d.sets.Store(&limits[0], &boundSets{append(known[:len(known):len(known)], set)})
	if !found {
		d.kept.Add(1)
	}
	return set.bounds
}
