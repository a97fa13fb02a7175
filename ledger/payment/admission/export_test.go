package admission

import (
	"slices"

	"mizan/ledger/directory"
)

// KeptPartners is of how many partners a day keeps what bounds their payments, and
// of how many the next one does, after so many have paid.
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

// KeptSets is of how many sets of a partner's limits a day keeps what they make of
// a payment, after so many different ones have bound one, and the last again.
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

// At is an admission of which only the state is set.
func At(s State) Admission { return Admission{state: s} }

// Take makes a step of the machine.
func (a *Admission) Take(e Event) Task { return a.take(e) }
