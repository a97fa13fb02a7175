package payment_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"

	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
)

// checked runs the checker: its rules hold whatever a test has done.
func (h *fixture) checked() {
	h.t.Helper()
	in := check.Inputs{Data: h.Dir, Log: slog.New(slog.DiscardHandler)}
	if h.scripted {
		in.Data = ""
	}
	report, err := check.Check(context.Background(), h.Journal, in)
	if err != nil {
		h.t.Error(err)
		return
	}
	for i := range report.Rules {
		rule := &report.Rules[i]
		if rule.Outcome == findings.Broken && !(h.lossy && givenUp(rule)) && !(h.operators != nil && unlisted(rule)) {
			var text bytes.Buffer
			_, _ = report.WriteTo(&text)
			h.t.Errorf("the checker says\n%s", text.String())
			return
		}
	}
}

// givenUp tells whether the checker only reports voids of charges that the rail never had: a charge
// with an unknown outcome may be cancelled.
func givenUp(rule *findings.Rule) bool {
	return all(rule, "has a void at a terminal where it is not open")
}

// unlisted tells whether the checker only reports alerts for terminals that the store does not
// know: this fixture has its terminals in memory.
func unlisted(rule *findings.Rule) bool {
	return all(rule, "(operators) goes to nobody who is there")
}

func all(rule *findings.Rule, end string) bool {
	for _, detail := range rule.Details {
		if !strings.HasSuffix(detail, end) {
			return false
		}
	}
	return true
}
