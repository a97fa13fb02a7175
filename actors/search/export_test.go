package search

import (
	"maps"
	"slices"

	"mizan/ledger"
)

// StoreSome writes the entries of some buckets, as a run that a crash interrupts would do.
func (x *Index) StoreSome(org ledger.ID, count int) error {
	p := x.organizations[org]
	if p == nil {
		return nil
	}
	buckets := slices.Sorted(maps.Keys(p.buckets))
	return x.storeBuckets(org, p, buckets[:min(count, len(buckets))])
}

// InMemory returns how many entries, in how many buckets, are in memory only.
func (x *Index) InMemory() (entries, buckets int) { return x.unstoredEntries, x.rows }

// BoundEntries sets the maximum of entries in memory.
func (x *Index) BoundEntries(n int) { x.maxUnstored = n }

// BoundFind sets the bounds of Find.
func (x *Index) BoundFind(rows, candidates, tailEvents, tailCompared int) {
	x.bounds = bounds{rows, candidates, tailEvents, tailCompared}
}
