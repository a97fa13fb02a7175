package admission

import (
	"sync"
	"sync/atomic"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Volumes caches the bounds that volume limits put on payments, for one UTC day. On one day the
// counters' windows have the same names, and a limit in the partner scope bounds all of the
// partner's payments in the same way. A bound that is not in the cache is computed again. It is
// safe for several goroutines; the zero value is empty.
type Volumes struct{ today atomic.Pointer[day] }

// day is the cache of one UTC day.
type day struct {
	date ledger.Date
	name string // ledger.DayWindow

	sets sync.Map     // first of a partner's limits (**directory.Limit) → *boundSets
	kept atomic.Int64 // number of partners in sets
}

// Bounds of a day's cache. When it is full, it is emptied.
const (
	MaxPartners = 65_536 // partners; each change of a partner's limits counts as a further one
	MaxSets     = 16     // of one partner's limits: one for each combination of asset, type and terminal with limits
)

// chosen is the set of a partner's limits that bound a transaction, by their index.
type chosen [(directory.MaxLimits + 63) / 64]uint64

func (c *chosen) add(i int) { c[i/64] |= 1 << (i % 64) }

func (c *chosen) has(i int) bool { return c[i/64]&(1<<(i%64)) != 0 }

// boundSet has the bounds that the chosen limits put on a payment.
type boundSet struct {
	of     chosen
	bounds []payment.Bound // shared
}

// boundSets is immutable; a change replaces it.
type boundSets struct{ all []boundSet }

// day returns the cache of the date, which nearly always is the cache of the previous payment.
func (v *Volumes) day(date ledger.Date) *day {
	if last := v.today.Load(); last != nil && last.date == date && last.kept.Load() < MaxPartners {
		return last
	}
	next := &day{date: date, name: ledger.DayWindow(date)}
	v.today.Store(next)
	return next
}

// bounds returns the bounds that the chosen limits of a partner put on any payer's payment. The
// slice of limits never changes, so the address of its first element identifies it.
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
