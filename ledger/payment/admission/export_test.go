package admission

import (
	"slices"

	"mizan/ledger/directory"
)

// PartnersInCache fills the cache of bounds: it makes one payment of each of the given number of partners on one day, and
// then one payment on the next day. It returns the number of partners in the cache at the end of the first day (today) and of
// the second day (tomorrow).
func PartnersInCache(partners int) (today, tomorrow int64) {
	volumes, chosenLimits := new(BoundCache), new(limitSet)
	chosenLimits.addIndex(0) // each partner has one limit, which applies to the payment
	limits := []*directory.Limit{{Kind: directory.DailyVolume}}
	for range partners {
		volumes.day(1).cachedBounds(slices.Clone(limits), chosenLimits)
	}
	today = volumes.today.Load().partners.Load()
	volumes.day(2).cachedBounds(limits, chosenLimits)
	return today, volumes.today.Load().partners.Load()
}

// SetsInCache fills the cache of bounds for one partner. It makes one payment for each of the given number of different sets
// of limits, and one more for the last set. It returns how many sets of bounds the cache then has for the partner.
func SetsInCache(sets int) int {
	volumes, limits := new(BoundCache), make([]*directory.Limit, sets)
	for i := range limits {
		limits[i] = &directory.Limit{Kind: directory.DailyVolume}
	}
	for i := range sets + 1 {
		chosenLimits := new(limitSet)
		chosenLimits.addIndex(min(i, sets-1))
		volumes.day(1).cachedBounds(limits, chosenLimits)
	}
	stored, _ := volumes.today.Load().sets.Load(&limits[0])
	return len(stored.(*boundSets).sets)
}

// InState returns an admission of which only the state is set.
func InState(s State) Admission { return Admission{state: s} }

// Take applies an event to the state, and returns the next task.
func (a *Admission) Take(e Event) Task { return a.step(e) }
