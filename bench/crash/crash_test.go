package crash

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"mizan/internal/testkit"
)

// Numbers of kills in the campaigns of `make test`, and in each campaign of a soak.
const (
	fewKills       = 14
	fewManualKills = 5 // on a manual clock
	manyKills      = 60
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a server for a minute")
	}
	campaignSeed := seed(t)
	t.Run("real clock", func(t *testing.T) { newCampaign(t, campaignSeed, fewKills, false).run() })
	t.Run("manual clock", func(t *testing.T) { newCampaign(t, campaignSeed, fewManualKills, true).run() })
}

// TestSoak runs campaigns for the time in MIZAN_SOAK, each with its own store and seed,
// alternately on the real clock and on a manual one.
func TestSoak(t *testing.T) {
	text := os.Getenv("MIZAN_SOAK")
	if text == "" {
		t.Skip("MIZAN_SOAK=30m says for how long")
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("MIZAN_SOAK: %v", err)
	}
	firstSeed := seed(t)
	for began, n := time.Now(), firstSeed; n == firstSeed || time.Since(began) < duration; n++ {
		manual := n%2 == 1 // depends on the seed, so that a campaign can be repeated alone
		ok := t.Run(strconv.FormatUint(n, 10), func(t *testing.T) {
			c := newCampaign(t, n, manyKills, manual)
			c.timed = true
			c.run()
		})
		if !ok {
			return
		}
	}
}

// seed returns MIZAN_SEED, or a random seed.
func seed(t *testing.T) uint64 {
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
