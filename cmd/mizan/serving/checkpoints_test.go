package serving

import (
	"regexp"
	"testing"

	"mizan/internal/testkit"
)

// While a server runs, it makes a checkpoint of each day that is over.
func TestCheckpointsAreMade(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual", "--metrics-listen", "127.0.0.1:0"}})
	advance(t, server, `{"advance_seconds":86400}`)
	testkit.Pay(t, server.Partner(), "the next day")
	checkpointMade := regexp.MustCompile(`\nmizan_checkpoints_total [1-9]`)
	testkit.WaitUntil(t, "a checkpoint is made", func() bool { return checkpointMade.MatchString(metricsText(t, server)) })
}
