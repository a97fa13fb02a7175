package audit

import (
	"net/http"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// startAfterThreeMonths returns a sandbox whose clock was set three months ahead, and those three months, which
// can be closed.
func startAfterThreeMonths(t *testing.T) (server *testkit.Server, months []string) {
	t.Helper()
	server = testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	var clock struct {
		Data struct {
			Now string `json:"now"`
		} `json:"data"`
		Now string `json:"now"`
	}
	response, err := server.Admin().Get("/api/v1/sandbox/clock")
	if err != nil || response.JSON(&clock) != nil {
		t.Fatalf("%v: %v", response, err)
	}
	firstMonth := parseMonth(t, clock.Now[:len("2006-01")])
	for m := firstMonth; m < firstMonth+3; m++ {
		months = append(months, m.String())
	}
	response, err = server.Admin().Put("/api/v1/sandbox/clock", map[string]string{"now": (firstMonth + 3).FirstDay().String() + "T00:00:00Z"})
	if err != nil || response.Status != http.StatusOK {
		t.Fatalf("%v: %v", response, err)
	}
	return server, months
}

func TestMonthsAreClosedListedAndRecomputedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	server, months := startAfterThreeMonths(t)
	testkit.Pay(t, server.Partner(), "order-1")
	runPeriods := func(exit int, stderr string, args ...string) string {
		t.Helper()
		return wantExit(t, exit, stderr, append([]string{"audit", "periods"}, append(args, "--sandbox", server.Dir)...)...).Stdout
	}
	if got := runPeriods(0, "mizan: audit periods list: no month is closed\n", "list"); got != "" {
		t.Errorf("nothing is closed, and listed is %q", got)
	}
	runPeriods(2, months[0]+" has to be closed first", "close", months[1])
	runPeriods(2, "is not a month", "close", "2026-13")
	runPeriods(2, "is not a month", "verify", "2026-1")
	runPeriods(2, months[0]+" is not closed", "verify", months[0])
	for _, m := range months {
		if got := runPeriods(0, "", "close", m); !strings.HasPrefix(got, m+" is closed by event ") {
			t.Errorf("%q", got)
		}
	}
	runPeriods(2, months[2]+" is closed already", "close", months[2])
	listLines := strings.Split(strings.TrimSpace(runPeriods(0, "", "list")), "\n")
	if len(listLines) != 4 || !strings.HasPrefix(listLines[1], months[2]) || !strings.HasPrefix(listLines[3], months[0]) {
		t.Errorf("listed are %q", listLines)
	}
	verifyLines := strings.Split(strings.TrimSpace(runPeriods(0, "", "verify")), "\n")
	for i, line := range verifyLines {
		if words := strings.Fields(line); len(words) != 3 || words[0] != months[i] || words[2] != "ok" || !strings.HasSuffix(listLines[3-i], words[1]) {
			t.Errorf("%q, and listed is %q", line, listLines[3-i])
		}
	}
	if got := runPeriods(0, "", "verify", months[1]); got != verifyLines[1]+"\n" {
		t.Errorf("%q, want %q", got, verifyLines[1])
	}
}
