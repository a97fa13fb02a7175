package payment_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"

	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
)

// runChecker checks that the store keeps all rules of the checker (snapshots/check).
func (f *fixture) runChecker() {
	f.t.Helper()
	inputs := check.Inputs{Data: f.Dir, Log: slog.New(slog.DiscardHandler)}
	if f.skipRailComparison {
		inputs.Data = ""
	}
	report, err := check.Check(context.Background(), f.Journal, inputs)
	if err != nil {
		f.t.Error(err)
		return
	}
	for i := range report.Rules {
		rule := &report.Rules[i]
		if rule.Outcome == findings.Broken && !(f.mayGiveUpCharges && onlyVoidsOfLostCharges(rule)) && !((f.canReachOperators != nil || f.sendsReceipts) && onlyUnknownTerminals(rule)) {
			var text bytes.Buffer
			_, _ = report.WriteTo(&text)
			f.t.Errorf("the checker says\n%s", text.String())
			return
		}
	}
}

// onlyVoidsOfLostCharges tells whether the rule's only findings are voids of charges that never reached
// the rail. They are allowed, because a charge with an unknown outcome may be cancelled.
func onlyVoidsOfLostCharges(rule *findings.Rule) bool {
	return allFindingsEndWith(rule, "has a void at a terminal where it is not open")
}

// onlyUnknownTerminals tells whether the rule's only findings are alerts and receipts of terminals that are not in
// the store. They are expected, because the fixture has its terminals only in memory.
func onlyUnknownTerminals(rule *findings.Rule) bool {
	const fault = " has a destination that does not exist"
	return allFindingsEndWith(rule, "(operators)"+fault) || allFindingsEndWith(rule, "(receipt)"+fault)
}

func allFindingsEndWith(rule *findings.Rule, end string) bool {
	for _, detail := range rule.Details {
		if !strings.HasSuffix(detail, end) {
			return false
		}
	}
	return true
}
