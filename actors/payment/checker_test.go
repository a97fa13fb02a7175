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
func (f *fixture) checked() {
	f.t.Helper()
	in := check.Inputs{Data: f.Dir, Log: slog.New(slog.DiscardHandler)}
	if f.scripted {
		in.Data = ""
	}
	report, err := check.Check(context.Background(), f.Journal, in)
	if err != nil {
		f.t.Error(err)
		return
	}
	for i := range report.Rules {
		rule := &report.Rules[i]
		if rule.Outcome == findings.Broken && !(f.lossy && givenUp(rule)) && !(f.operators != nil && unlisted(rule)) {
			var text bytes.Buffer
			_, _ = report.WriteTo(&text)
			f.t.Errorf("the checker says\n%s", text.String())
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
