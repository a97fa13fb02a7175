package admission

import (
	"sync"
	"sync/atomic"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Volumes keeps what the limits on volumes make of a payment, for one UTC day: the windows of
// their counters have the same names, and limits that take all of a partner's payments together
// bound one like the other. What it has forgotten is worked out again. It may be used from several
// goroutines; the zero value is empty.
type Volumes struct{ today atomic.Pointer[day] }

// day is what payments of one UTC day under volume limits have in common.
type day struct {
	date ledger.Date
	name string // ledger.DayWindow

	sets sync.Map     // first of a partner's limits (**directory.Limit) → *boundSets
	kept atomic.Int64 // how many are in sets
}

// Bounds of what a day keeps: then it begins anew.
const (
	MaxPartners = 65_536 // partners, and their limits before each change of them
	MaxSets     = 16     // of one partner's limits: one an asset, a type and a terminal that limits are on
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
func (v *Volumes) day(date ledger.Date) *day {
	if last := v.today.Load(); last != nil && last.date == date && last.kept.Load() < MaxPartners {
		return last
	}
	next := &day{date: date, name: ledger.DayWindow(date)}
	v.today.Store(next)
	return next
}

// bounds are what the chosen ones of a partner's limits bound a payment by, whoever pays. The slice
// of limits never changes, so the address of its first element says which limits they are.
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
	if len(known) >= MaxSets {
		known = nil
	}
	d.sets.Store(&limits[0], &boundSets{append(known[:len(known):len(known)], set)})
	if !found {
		d.kept.Add(1)
	}
	return set.bounds
}
