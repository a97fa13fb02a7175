package serving

import (
	"regexp"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// While a server runs, it makes a checkpoint of the account totals for each day that is over.
func TestCheckpointsAreMade(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual", "--metrics-listen", "127.0.0.1:0"}})
	advance(t, server, `{"advance_seconds":86400}`)
	testkit.Pay(t, server.Partner(), "the next day")
	checkpointMade := regexp.MustCompile(`\nmizan_checkpoints_total [1-9]`)
	testkit.WaitUntil(t, "a checkpoint is made", func() bool { return checkpointMade.MatchString(metricsText(t, server)) })
}

// While a server runs, it counts the turnover of partners, even if no request reads it.
func TestTurnoverIsCounted(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0"}})
	testkit.Pay(t, server.Partner(), "first")
	testkit.WaitUntil(t, "the payment is counted", func() bool { return strings.Contains(metricsText(t, server), "\nmizan_turnover_events_total 1\n") })
	answer, err := server.Partner().Get("/api/v1/turnover?env=test")
	if err != nil || !strings.Contains(string(answer.Body), `"charged":1,`) {
		t.Fatalf("%s, %v", answer.Body, err)
	}
	server.Kill()
	server.Restart()
	if answer, err = server.Partner().Get("/api/v1/turnover?env=test"); err != nil || !strings.Contains(string(answer.Body), `"charged":1,`) {
		t.Errorf("after a kill: %s, %v", answer.Body, err)
	}
}

// While a server runs, it indexes transactions, and a search finds them. So it does after a kill.
func TestTransactionsAreIndexed(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{Flags: []string{"--metrics-listen", "127.0.0.1:0"}})
	testkit.Pay(t, server.Partner(), "first")
	wantFound := func() {
		t.Helper()
		if answer, err := server.Admin().Get("/api/v1/search?q=4242"); err != nil || !strings.Contains(string(answer.Body), `"field":"last4"`) || !strings.Contains(string(answer.Body), `"complete":true`) {
			t.Errorf("%s, %v", answer.Body, err)
		}
	}
	wantFound()
	testkit.WaitUntil(t, "the payment is indexed", func() bool {
		text := metricsText(t, server)
		return !strings.Contains(text, "\nmizan_search_indexed_total 0\n") && strings.Contains(text, "\nmizan_search_lag_events 0\n")
	})
	wantFound()
	server.Kill()
	server.Restart()
	wantFound()
}
