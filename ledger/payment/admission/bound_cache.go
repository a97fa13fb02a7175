package admission

import (
	"sync"
	"sync/atomic"

	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/payment"
)

// BoundCache caches the bounds that volume limits set for transactions, for one UTC day. Transactions of one day can
// share a bound if its limit has the scope partner: the limit then treats all transactions of the partner in the same
// way, and the name of the counter window is the same all day. Several goroutines may use BoundCache at the same time.
// The zero value is an empty cache.
type BoundCache struct{ today atomic.Pointer[day] }

// day is the cache for one UTC day.
type day struct {
	date ledger.Date
	name string // name of the day's counter window (ledger.DayWindow)

	sets     sync.Map     // key: address of the first element of a partner's limits (**directory.Limit); value: *boundSets
	partners atomic.Int64 // number of entries in sets
}

// Maximum sizes of a day's cache. If there are too many partners, the whole cache is emptied; if a partner has too many
// sets, the partner's sets are removed.
const (
	MaxPartners       = 65_536 // a partner whose limits change during the day counts again
	MaxSetsPerPartner = 16     // a partner has one set for each combination of asset, type and terminal to which limits apply
)

// limitSet is a subset of a partner's limits. Bit i stands for the limit with the index i.
type limitSet [(directory.MaxLimits + 63) / 64]uint64

func (set *limitSet) addIndex(i int) { set[i/64] |= 1 << (i % 64) }

func (set *limitSet) hasIndex(i int) bool { return set[i/64]&(1<<(i%64)) != 0 }

// boundSet contains some of a partner's limits, and the bounds that these limits set for a transaction.
type boundSet struct {
	limits limitSet
	bounds []payment.Bound // shared by transactions
}

// boundSets contains the cached sets of one partner. It is never changed in place, but replaced.
type boundSets struct{ sets []boundSet }

// day returns the cache for the date. It begins a new cache if the date has changed or the cache is full.
func (v *BoundCache) day(date ledger.Date) *day {
	if last := v.today.Load(); last != nil && last.date == date && last.partners.Load() < MaxPartners {
		return last
	}
	next := &day{date: date, name: ledger.DayWindow(date)}
	v.today.Store(next)
	return next
}

// cachedBounds returns the bounds that the chosen limits of a partner set for a transaction of any payer. The slice
// limits is never changed, so the address of its first element identifies the slice. If the bounds are not in the cache,
// they are computed and added.
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
