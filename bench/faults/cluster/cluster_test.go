package cluster

import (
	"strconv"
	"testing"
	"time"

	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

// Numbers of faults in the campaign of `make test`, and in each campaign of a soak test.
const (
	testFaults = 8
	soakFaults = 40
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestClusterSurvivesFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster and injects faults for half a minute")
	}
	testkit.NotUnderRace(t, "the nodes are processes of their own")
	r := newReport()
	newCampaign(t, testseed.Seed(t), r).run(testFaults)
	r.print(t)
}

// TestSoak runs campaigns for the time in MIZAN_SOAK, each with its own cluster and seed.
func TestSoak(t *testing.T) {
	duration := testseed.SoakTime(t)
	r, first := newReport(), testseed.Seed(t)
	for began, n := time.Now(), first; n == first || time.Since(began) < duration; n++ {
		if !t.Run(strconv.FormatUint(n, 10), func(t *testing.T) { newCampaign(t, n, r).run(soakFaults) }) {
			break
		}
	}
	r.print(t)
}
