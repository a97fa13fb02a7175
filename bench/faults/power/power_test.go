package power

import (
	"os"
	"strconv"
	"testing"
	"time"

	"mizan/bench/faults/power/disk"
	"mizan/bench/faults/trial"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

// Numbers of cuts in the run of `make test`, and in each campaign of a soak test.
const (
	testCuts = 3
	soakCuts = 20
)

func TestMain(m *testing.M) {
	os.Exit(disk.InPrivateNamespace(func() int {
		testkit.Main(m)
		return 0
	}))
}

// available returns the file systems that this machine supports. It logs why others are missing.
func available(t *testing.T) (kinds []string) {
	t.Helper()
	for _, kind := range []string{"ext4", "xfs"} {
		if err := disk.Unavailable(kind); err != nil {
			t.Logf("no power cuts on %s: %v", kind, err)
			continue
		}
		kinds = append(kinds, kind)
	}
	if len(kinds) == 0 {
		t.Skip("no power cuts: this machine lacks what they need")
	}
	return kinds
}

func TestStoreSurvivesPowerCuts(t *testing.T) {
	if testing.Short() {
		t.Skip("cuts the power for some seconds")
	}
	seed, sum := testseed.Seed(t), new(cases)
	for _, kind := range available(t) {
		t.Run(kind, func(t *testing.T) { newCampaign(t, kind, seed, false, sum).run(testCuts) })
	}
	sum.print(t)
}

// TestSoak runs campaigns for the time in MIZAN_SOAK, each on a new volume, alternately on each file system.
func TestSoak(t *testing.T) {
	duration := testseed.SoakTime(t)
	kinds, firstSeed, sum := available(t), testseed.Seed(t), new(cases)
	if only := os.Getenv("MIZAN_POWER_KIND"); only != "" {
		kinds = []string{only}
	}
	began := time.Now()
	for seed := firstSeed; seed == firstSeed || time.Since(began) < duration; seed++ {
		kind := kinds[seed%uint64(len(kinds))] // depends on the seed, so that a campaign can be repeated alone
		hasLargeData := seed/uint64(len(kinds))%3 == 0
		if !t.Run(kind+"/"+strconv.FormatUint(seed, 10), func(t *testing.T) { newCampaign(t, kind, seed, hasLargeData, sum).run(soakCuts) }) {
			break
		}
	}
	t.Logf("%d cuts in %v", sum.cuts, time.Since(began).Round(time.Second))
	sum.print(t)
}

// print logs the tables and where the time went.
func (c *cases) print(t *testing.T) {
	t.Helper()
	trial.Report(t, &c.byPlace)
	trial.Report(t, &c.byLoss)
	t.Logf("%d writes were not flushed at the %d cuts: %d of them were lost, %d torn; at %d cuts there were four or more; time went into %v",
		c.unflushed, c.cuts, c.lost, c.torn, c.filled, c.spent)
}
