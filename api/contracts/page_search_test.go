package contracts

import (
	"testing"

	"pgregory.net/rapid"

	"mizan/ledger"
)

// For any distribution of creation times, a page of old contracts is found with few look-ups in the list, and
// the number of skipped rows is bounded.
func TestDistantPageIsFoundWithFewReads(t *testing.T) {
	t.Parallel()
	const maxLookups = 70 // enough for the growing steps back in time, and for bisecting even the whole range of times
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "contracts")
		maxSkip := rapid.Uint64Range(0, 50).Draw(t, "maxSkip")
		number := rapid.Uint64Range(1, uint64(n)).Draw(t, "number")
		gap := rapid.SampledFrom([]int64{1, 1000, 60_000_000, 86_400_000_000}).Draw(t, "longest gap")
		booked := make([]ledger.Micros, n+1) // booked times by contract number
		for i := 1; i <= n; i++ {
			booked[i] = booked[i-1] + ledger.Micros(rapid.Int64Range(1, gap).Draw(t, "gap"))
		}
		queries := 0
		before, skip, err := searchBack(number, maxSkip, func(before ledger.Micros) (ledger.Micros, uint64, error) {
			queries++
			last := n
			for before != 0 && last > 0 && booked[last] >= before {
				last--
			}
			return booked[last], uint64(last), nil
		})
		newest := uint64(n)
		for newest > 0 && booked[newest] >= before {
			newest--
		}
		if err != nil || newest-skip != number || skip > maxSkip || queries > maxLookups {
			t.Fatalf("found %d behind %d, passing over %d, in %d looks (%v)", newest-skip, newest, skip, queries, err)
		}
	})
}
