package serving

import (
	"io"
	"net/http"
	"regexp"
	"testing"
	"time"

	"mizan/internal/testkit"
)

// While a server runs, it makes a checkpoint of each day that is over.
func TestCheckpointsAreMade(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual", "--metrics-listen", "127.0.0.1:0"}})
	addressMatch := regexp.MustCompile(`msg=metrics address=(\S+)`).FindStringSubmatch(server.Stderr())
	if addressMatch == nil {
		t.Fatalf("the log doesn't say where metrics are:\n%s", server.Stderr())
	}
	advance(t, server, `{"advance_seconds":86400}`)
	testkit.Pay(t, server.Partner(), "the next day")
	checkpointMade := regexp.MustCompile(`\nmizan_checkpoints_total [1-9]`)
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for timeout := time.After(2 * time.Minute); ; {
		response, err := http.Get("http://" + addressMatch[1] + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if checkpointMade.Match(content) {
			return
		}
		select {
		case <-ticker.C:
		case <-timeout:
			t.Fatalf("none was made:\n%s", server.Stderr())
		}
	}
}
