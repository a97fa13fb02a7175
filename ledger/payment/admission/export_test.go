package admission

import (
	"slices"

	"mizan/ledger/directory"
)

// KeptPartners returns how many partners' bounds are cached after paid partners have paid on one
// day, and how many after the first payment of the next day.
func KeptPartners(paid int) (today, tomorrow int64) {
	v, of := new(Volumes), new(chosen)
	of.add(0)
	limits := []*directory.Limit{{Kind: directory.DailyVolume}}
	for range paid {
		v.day(1).bounds(slices.Clone(limits), of)
	}
	today = v.today.Load().kept.Load()
	v.day(2).bounds(limits, of)
	return today, v.today.Load().kept.Load()
}

// KeptSets returns how many sets of bounds of one partner are cached after the given number of
// different sets of limits have bounded a payment, the last one twice.
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
