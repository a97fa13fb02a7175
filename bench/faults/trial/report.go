package trial

import (
	"strings"
	"testing"

	"mizan/bench/faults"
)

// Report logs a campaign's table and fails the test for each silent case. A case is silent if something was lost or falsified
// and no check noticed it.
func Report(tb testing.TB, table *faults.Table) {
	tb.Helper()
	var text strings.Builder
	if err := table.Write(&text); err != nil {
		tb.Fatal(err)
	}
	tb.Logf("\n%s", text.String())
	for _, description := range table.Silent() {
		tb.Errorf("silent: %s", description)
	}
}
