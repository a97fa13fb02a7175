package linearizable

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"mizan/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestHistoriesAreLinearizableOverKills(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a server for some seconds")
	}
	r := newReport()
	newCampaign(t, seedFromEnv(t), testKills, r).run()
	r.print(t)
	if r.overKills == 0 || len(r.histories) < 8 {
		t.Errorf("too little happened: %d kinds of histories, %d histories at kills", len(r.histories), r.overKills)
	}
}

// TestSoak runs campaigns for the time in MIZAN_SOAK, each with its own store and seed.
func TestSoak(t *testing.T) {
	text := os.Getenv("MIZAN_SOAK")
	if text == "" {
		t.Skip("MIZAN_SOAK=30m says for how long")
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("MIZAN_SOAK: %v", err)
	}
	r, first := newReport(), seedFromEnv(t)
	for began, n := time.Now(), first; n == first || time.Since(began) < duration; n++ {
		if !t.Run(strconv.FormatUint(n, 10), func(t *testing.T) { newCampaign(t, n, soakKills, r).run() }) {
			break
		}
	}
	r.print(t)
}

// seedFromEnv returns MIZAN_SEED, or a random seed if the variable is not set.
func seedFromEnv(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("MIZAN_SEED")
	if text == "" {
		return rand.Uint64()
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("MIZAN_SEED: %v", err)
	}
	return n
}
