package crash

import (
	"strconv"
	"testing"
	"time"

	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

// Numbers of kills in the two campaigns of `make test`, and in each campaign of a soak test.
const (
	testKills            = 14
	manualClockTestKills = 5
	soakKills            = 60
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestStoreSurvivesKills(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a server for a minute")
	}
	campaignSeed := testseed.Seed(t)
	t.Run("real clock", func(t *testing.T) { newCampaign(t, campaignSeed, testKills, false).run() })
	t.Run("manual clock", func(t *testing.T) { newCampaign(t, campaignSeed, manualClockTestKills, true).run() })
}

// TestSoak runs campaigns for the time in MIZAN_SOAK, each with its own store and seed,
// alternately on the real clock and on a manual one.
func TestSoak(t *testing.T) {
	duration := testseed.SoakTime(t)
	firstSeed := testseed.Seed(t)
	for began, n := time.Now(), firstSeed; n == firstSeed || time.Since(began) < duration; n++ {
		manualClock := n%2 == 1 // depends on the seed, so that a campaign can be repeated alone
		ok := t.Run(strconv.FormatUint(n, 10), func(t *testing.T) {
			c := newCampaign(t, n, soakKills, manualClock)
			c.checksReadyTime = true
			c.run()
		})
		if !ok {
			return
		}
	}
}
