package admission

import (
	"sync"
	"sync/atomic"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// Volumes caches the bounds that volume limits set for payments, for one UTC day. Payments on one day can share a bound, for
// two reasons. The name of the bound's counter window is the same all day, and a limit with the scope partner bounds all of
// the partner's payments in the same way. A bound that is not in the cache is computed. Volumes is safe for several
// goroutines. The zero value is empty.
type Volumes struct{ today atomic.Pointer[day] }

// day is the cache of one UTC day.
type day struct {
	date ledger.Date
	name string // name of the day's counter window (ledger.DayWindow)

	sets     sync.Map     // key: address of the first element of a partner's limits (**directory.Limit); value: *boundSets
	partners atomic.Int64 // number of partners in sets
}

// Maximum sizes of a day's cache. When a part is full, it is emptied.
const (
	MaxPartners       = 65_536 // partners; a partner whose limits have changed counts once more
	MaxSetsPerPartner = 16     // sets of one partner: one for each combination of asset, type and terminal that has limits
)

// limitSet is a set of some of a partner's limits. It has a bit for the index of each limit.
type limitSet [(directory.MaxLimits + 63) / 64]uint64

func (set *limitSet) addIndex(i int) { set[i/64] |= 1 << (i % 64) }

func (set *limitSet) hasIndex(i int) bool { return set[i/64]&(1<<(i%64)) != 0 }

// boundSet has some of a partner's limits, and the bounds that these limits set for a payment.
type boundSet struct {
	limits limitSet
	bounds []payment.Bound // shared by payments
}

// boundSets has the cached sets of one partner. It is immutable; a change replaces it.
type boundSets struct{ sets []boundSet }

// day returns the cache of the date. Nearly always, the previous payment has used the same cache.
func (v *Volumes) day(date ledger.Date) *day {
	if last := v.today.Load(); last != nil && last.date == date && last.partners.Load() < MaxPartners {
		return last
	}
	next := &day{date: date, name: ledger.DayWindow(date)}
	v.today.Store(next)
	return next
}

// cachedBounds returns the bounds that the chosen limits of a partner set for a payment by any payer. A slice of limits is
// never changed, so the address of its first element identifies it. If the bounds are not in the cache, they are computed and
// added.
func (d *day) cachedBounds(limits []*directory.Limit, chosenLimits *limitSet) []payment.Bound {
	var cachedSets []boundSet
	stored, found := d.sets.Load(&limits[0])
	if found {
		cachedSets = stored.(*boundSets).sets
		for i := range cachedSets {
			if cachedSets[i].limits == *chosenLimits {
				return cachedSets[i].bounds
			}
		}
	}
	set := boundSet{limits: *chosenLimits}
	for i, l := range limits {
		if chosenLimits.hasIndex(i) {
			set.bounds = append(set.bounds, boundOf(l, d.name, ""))
		}
	}
	payment.PrecomputeVolumes(set.bounds)
	if len(cachedSets) >= MaxSetsPerPartner {
		cachedSets = nil
	}
	d.sets.Store(&limits[0], &boundSets{append(cachedSets[:len(cachedSets):len(cachedSets)], set)})
	if !found {
		d.partners.Add(1)
	}
	return set.bounds
}
