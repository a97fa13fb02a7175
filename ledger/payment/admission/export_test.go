package admission

import (
	"slices"

	"mizan/ledger/directory"
)

// CachedPartners returns how many partners are in the cache of bounds: today, after the given number of partners have
// paid, and tomorrow, after the first payment of that day.
func CachedPartners(partners int) (today, tomorrow int64) {
	volumes, chosenLimits := new(Volumes), new(limitSet)
	chosenLimits.add(0)
	limits := []*directory.Limit{{Kind: directory.DailyVolume}}
	for range partners {
		volumes.day(1).bounds(slices.Clone(limits), chosenLimits)
	}
	today = volumes.today.Load().partners.Load()
	volumes.day(2).bounds(limits, chosenLimits)
	return today, volumes.today.Load().partners.Load()
}

// CachedSets makes a partner's payments under the given number of different sets of limits, and one more payment under the
// last set. It returns how many sets of bounds the cache then has for the partner.
func CachedSets(sets int) int {
	volumes, limits := new(Volumes), make([]*directory.Limit, sets)
	for i := range limits {
		limits[i] = &directory.Limit{Kind: directory.DailyVolume}
	}
	for i := range sets + 1 {
		chosenLimits := new(limitSet)
		chosenLimits.add(min(i, sets-1))
		volumes.day(1).bounds(limits, chosenLimits)
	}
	stored, _ := volumes.today.Load().sets.Load(&limits[0])
	return len(stored.(*boundSets).sets)
}

// InState returns an admission with only the state set.
func InState(s State) Admission { return Admission{state: s} }

// Take applies an event to the state, and returns the next task.
func (a *Admission) Take(e Event) Task { return a.step(e) }
