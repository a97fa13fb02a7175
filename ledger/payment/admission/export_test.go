package admission

import (
	"slices"

	"mizan/ledger/directory"
)

// CachedPartners returns for how many partners bounds are cached after the given number of partners have paid on one
// day, and for how many after the first payment of the next day.
func CachedPartners(partners int) (today, tomorrow int64) {
	v, limitSet := new(Volumes), new(limitSet)
	limitSet.add(0)
	limits := []*directory.Limit{{Kind: directory.DailyVolume}}
	for range partners {
		v.day(1).bounds(slices.Clone(limits), limitSet)
	}
	today = v.today.Load().partners.Load()
	v.day(2).bounds(limits, limitSet)
	return today, v.today.Load().partners.Load()
}

// CachedSets returns how many sets of bounds of one partner are cached after the given number of payments, each bounded by
// another set of limits, and one more payment bounded by the last set.
func CachedSets(sets int) int {
	v, limits := new(Volumes), make([]*directory.Limit, sets)
	for i := range limits {
		limits[i] = &directory.Limit{Kind: directory.DailyVolume}
	}
	for i := range sets + 1 {
		limitSet := new(limitSet)
		limitSet.add(min(i, sets-1))
		v.day(1).bounds(limits, limitSet)
	}
	stored, _ := v.today.Load().sets.Load(&limits[0])
	return len(stored.(*boundSets).sets)
}

// InState returns an admission with only the state set.
func InState(s State) Admission { return Admission{state: s} }

// Take makes a step of the machine.
func (a *Admission) Take(e Event) Task { return a.step(e) }
