package trial

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"mizan/bench/faults"
)

// Seed returns MIZAN_SEED, or a random seed if the variable is not set, and logs it.
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	n := rand.Uint64()
	if text := os.Getenv("MIZAN_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatalf("MIZAN_SEED: %v", err)
		}
	}
	tb.Logf("MIZAN_SEED=%d repeats the choices", n)
	return n
}

// SoakTime returns the duration of a campaign, and skips the test if there is none.
func SoakTime(tb testing.TB) time.Duration {
	tb.Helper()
	text := os.Getenv("MIZAN_SOAK")
	if text == "" {
		tb.Skip("MIZAN_SOAK=10m says for how long")
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		tb.Fatalf("MIZAN_SOAK: %v", err)
	}
	return d
}

// Report logs a campaign's table and fails the test for each silent case.
func Report(tb testing.TB, table *faults.Table) {
	tb.Helper()
	var text strings.Builder
	if err := table.Write(&text); err != nil {
		tb.Fatal(err)
	}
	tb.Logf("\n%s", text.String())
	for _, description := range table.Silent() {
		tb.Errorf("silent: %s", description)
	}
}
