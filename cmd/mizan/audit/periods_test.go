package audit

import (
	"net/http"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

// startInLaterYear returns a sandbox whose clock is in a later year than its first month.
func startInLaterYear(t *testing.T) (s *testkit.Server, months []string) {
	t.Helper()
	s = testkit.Start(t, testkit.Options{Flags: []string{"--clock", "manual"}})
	var clock struct {
		Data struct {
			Now string `json:"now"`
		} `json:"data"`
		Now string `json:"now"`
	}
	read, err := s.Admin().Get("/api/v1/sandbox/clock")
	if err != nil || read.JSON(&clock) != nil {
		t.Fatalf("%v: %v", read, err)
	}
	first := month(t, clock.Now[:len("2006-01")])
	for m := first; m < first+3; m++ {
		months = append(months, m.String())
	}
	response, err := s.Admin().Put("/api/v1/sandbox/clock", map[string]string{"now": (first + 3).First().String() + "T00:00:00Z"})
	if err != nil || response.Status != http.StatusOK {
		t.Fatalf("%v: %v", response, err)
	}
	return s, months
}

func TestMonthsAreClosedListedAndRecomputedFromTheCommandLine(t *testing.T) {
	t.Parallel()
	s, months := startInLaterYear(t)
	testkit.Pay(t, s.Partner(), "order-1")
	periods := func(exit int, stderr string, args ...string) string {
		t.Helper()
		return wantExit(t, exit, stderr, append([]string{"audit", "periods"}, append(args, "--sandbox", s.Dir)...)...).Stdout
	}
	if got := periods(0, "", "list"); got != "MONTH  CLOSED_AT  CLOSED_BY  SEQ  HASH\n" {
		t.Errorf("nothing is closed, and listed is %q", got)
	}
	periods(2, months[0]+" has to be closed first", "close", months[1])
	periods(2, "is not a month", "close", "2026-13")
	periods(2, "is not a month", "verify", "2026-1")
	periods(2, months[0]+" is not closed", "verify", months[0])
	for _, m := range months {
		if got := periods(0, "", "close", m); !strings.HasPrefix(got, m+" is closed by event ") {
			t.Errorf("%q", got)
		}
	}
	periods(2, months[2]+" is closed already", "close", months[2])
	listed := strings.Split(strings.TrimSpace(periods(0, "", "list")), "\n")
	if len(listed) != 4 || !strings.HasPrefix(listed[1], months[2]) || !strings.HasPrefix(listed[3], months[0]) {
		t.Errorf("listed are %q", listed)
	}
	verified := strings.Split(strings.TrimSpace(periods(0, "", "verify")), "\n")
	for i, line := range verified {
		if words := strings.Fields(line); len(words) != 3 || words[0] != months[i] || words[2] != "ok" || !strings.HasSuffix(listed[3-i], words[1]) {
			t.Errorf("%q, and listed is %q", line, listed[3-i])
		}
	}
	if got := periods(0, "", "verify", months[1]); got != verified[1]+"\n" {
		t.Errorf("%q, want %q", got, verified[1])
	}
}
