package testseed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// The environment variables.
const (
	SeedVariable = "MIZAN_SEED" // seed of random tests, as a decimal number
	SoakVariable = "MIZAN_SOAK" // duration of a soak test, for example 10m
)

// Seed returns the seed in MIZAN_SEED, or a random seed if the variable is not set. It logs the seed.
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	return SeedOr(tb, rand.Uint64())
}

// SeedOr returns the seed in MIZAN_SEED, or the given seed if the variable is not set. It logs the seed.
func SeedOr(tb testing.TB, seed uint64) uint64 {
	tb.Helper()
	if text := os.Getenv(SeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatalf("%s: %v", SeedVariable, err)
		}
	}
	tb.Logf("%s=%d", SeedVariable, seed)
	return seed
}

// Random returns a random number generator that is seeded with the result of Seed.
func Random(tb testing.TB) *rand.Rand {
	tb.Helper()
	return rand.New(rand.NewPCG(Seed(tb), 0))
}

// SoakTime returns the duration in MIZAN_SOAK. If MIZAN_SOAK is not set, SoakTime skips the test.
func SoakTime(tb testing.TB) time.Duration {
	tb.Helper()
	d, isSet := SoakTimeIfSet(tb)
	if !isSet {
		tb.Skip("a soak test: set MIZAN_SOAK to its duration, for example 10m")
	}
	return d
}

// SoakTimeIfSet returns the duration in MIZAN_SOAK, and whether MIZAN_SOAK is set.
func SoakTimeIfSet(tb testing.TB) (d time.Duration, isSet bool) {
	tb.Helper()
	text := os.Getenv(SoakVariable)
	if text == "" {
		return 0, false
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		tb.Fatalf("%s: %v", SoakVariable, err)
	}
	return d, true
}
