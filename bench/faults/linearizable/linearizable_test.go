package linearizable

import (
	"strconv"
	"testing"
	"time"

	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestHistoriesAreLinearizableOverKills(t *testing.T) {
	if testing.Short() {
		t.Skip("kills a server for some seconds")
	}
	r := newReport()
	newCampaign(t, testseed.Seed(t), testKills, r).run()
	r.print(t)
	if r.overKills == 0 || len(r.histories) < 8 {
		t.Errorf("too little happened: %d kinds of histories, %d histories at kills", len(r.histories), r.overKills)
	}
}

// TestSoak runs campaigns for the time in MIZAN_SOAK, each with its own store and seed.
func TestSoak(t *testing.T) {
	duration := testseed.SoakTime(t)
	r, first := newReport(), testseed.Seed(t)
	for began, n := time.Now(), first; n == first || time.Since(began) < duration; n++ {
		if !t.Run(strconv.FormatUint(n, 10), func(t *testing.T) { newCampaign(t, n, soakKills, r).run() }) {
			break
		}
	}
	r.print(t)
}
