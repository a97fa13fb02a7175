package admission_test

import (
	"testing"

	"mizan/ledger/payment/admission"
)

// The cache of bounds has room for MaxPartners partners, and for MaxSetsPerPartner sets of bounds for each partner. If a
// payment needs more room, the whole cache or the partner's part of it is emptied, so the cache's memory is bounded.
func TestFullCacheOfBoundsIsEmptied(t *testing.T) {
	for partners, want := range map[int]int64{1: 1, admission.MaxPartners - 1: admission.MaxPartners - 1, admission.MaxPartners: admission.MaxPartners, admission.MaxPartners + 1: 1} {
		if today, tomorrow := admission.PartnersInCache(partners); today != want || tomorrow != 1 {
			t.Errorf("of %d partners %d are in the cache, and the next day %d; want %d and 1", partners, today, tomorrow, want)
		}
	}
	for sets, want := range map[int]int{1: 1, admission.MaxSetsPerPartner: admission.MaxSetsPerPartner, admission.MaxSetsPerPartner + 1: 1} {
		if got := admission.SetsInCache(sets); got != want {
			t.Errorf("of %d sets %d are in the cache, want %d", sets, got, want)
		}
	}
}
