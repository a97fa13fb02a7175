package admission

import (
	"slices"

	"mizan/ledger/directory"
)

// KeptPartners returns for how many partners bounds are cached after the given number of partners have paid on one
// day, and for how many after the first payment of the next day.
func KeptPartners(partners int) (today, tomorrow int64) {
	v, of := new(Volumes), new(chosen)
	of.add(0)
	limits := []*directory.Limit{{Kind: directory.DailyVolume}}
	for range partners {
		v.day(1).bounds(slices.Clone(limits), of)
	}
	today = v.today.Load().kept.Load()
	v.day(2).bounds(limits, of)
	return today, v.today.Load().kept.Load()
}

// KeptSets returns how many sets of bounds of one partner are cached after the given number of payments, each bounded by
// another set of limits, and one more payment bounded by the last set.
func KeptSets(different int) int {
	v, limits := new(Volumes), make([]*directory.Limit, different)
	for i := range limits {
		limits[i] = &directory.Limit{Kind: directory.DailyVolume}
	}
	for i := range different + 1 {
		of := new(chosen)
		of.add(min(i, different-1))
		v.day(1).bounds(limits, of)
	}
	kept, _ := v.today.Load().sets.Load(&limits[0])
	return len(kept.(*boundSets).all)
}

// At returns an admission with only the state set.
func At(s State) Admission { return Admission{state: s} }

// Take makes a step of the machine.
func (a *Admission) Take(e Event) Task { return a.take(e) }
