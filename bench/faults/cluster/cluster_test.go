package cluster

import (
	"os"
	"strconv"
	"testing"
	"time"

	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

const (
	testFaults = 6  // in the campaign of `make test`
	soakFaults = 40 // in each campaign of a long run

	faultsVariable = "MIZAN_FAULTS" // number of faults of TestFaults
)

// sizes are the sizes of clusters that long runs try in turns.
var sizes = []int{3, 5}

func TestMain(m *testing.M) { testkit.Main(m) }

func TestClusterSurvivesFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster and injects faults for half a minute")
	}
	testkit.NotUnderRace(t, "the nodes are processes of their own")
	r := newReport()
	newCampaign(t, 3, testkit.Binary(t), testseed.Seed(t), r).run(testFaults)
	r.print(t)
}

// campaigns runs campaigns while more returns a number of faults for the next one, each with its own cluster and seed.
func campaigns(t *testing.T, more func(r *report) int) {
	t.Helper()
	r, first := newReport(), testseed.Seed(t)
	for n := first; ; n++ {
		count := more(r)
		if count <= 0 {
			break
		}
		size := sizes[n%uint64(len(sizes))]
		if !t.Run(strconv.FormatUint(n, 10), func(t *testing.T) {
			t.Logf("%d nodes", size)
			newCampaign(t, size, testkit.Binary(t), n, r).run(count)
		}) {
			break
		}
	}
	r.print(t)
}

// TestSoak runs campaigns for the time in MIZAN_SOAK.
func TestSoak(t *testing.T) {
	end := time.Now().Add(testseed.SoakTime(t))
	campaigns(t, func(r *report) int {
		if r.campaigns > 0 && time.Now().After(end) {
			return 0
		}
		return soakFaults
	})
}

// TestFaults injects as many faults as MIZAN_FAULTS says.
func TestFaults(t *testing.T) {
	text := os.Getenv(faultsVariable)
	if text == "" {
		t.Skip(faultsVariable + " is the number of faults, for example 1000; each takes about five seconds")
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		t.Fatalf("%s: %q is not a number of faults", faultsVariable, text)
	}
	campaigns(t, func(r *report) int { return min(count-r.faults(), soakFaults) })
}
