package admission_test

import (
	"testing"

	"mizan/ledger/payment/admission"
)

// A cache that is full, of partners or of one partner's sets of bounds, is emptied and does not grow.
func TestCacheOfADaysBoundsIsEmptiedWhenFull(t *testing.T) {
	for partners, want := range map[int]int64{1: 1, admission.MaxPartners - 1: admission.MaxPartners - 1, admission.MaxPartners: admission.MaxPartners, admission.MaxPartners + 1: 1} {
		if today, tomorrow := admission.CachedPartners(partners); today != want || tomorrow != 1 {
			t.Errorf("of %d partners %d are kept, and of one the next day %d; want %d and 1", partners, today, tomorrow, want)
		}
	}
	for sets, want := range map[int]int{1: 1, admission.MaxSets: admission.MaxSets, admission.MaxSets + 1: 1} {
		if got := admission.CachedSets(sets); got != want {
			t.Errorf("of %d sets %d are kept, want %d", sets, got, want)
		}
	}
}
