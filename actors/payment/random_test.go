package payment_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"mizan/ledger/money"
)

// newRandom returns a random source and logs its seed. With this seed in MIZAN_SEED a run can be repeated.
func newRandom(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("MIZAN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("MIZAN_SEED: %v", err)
		}
	}
	t.Logf("MIZAN_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// rate parses a constant rate.
func rate(text string) money.Rate {
	r, err := money.ParseRate(text)
	if err != nil {
		panic(err)
	}
	return r
}
