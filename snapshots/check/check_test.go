package check_test

import (
	"testing"

	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
	"mizan/snapshots/fixture"
)

func TestSoundStoreBreaksNoRule(t *testing.T) {
	fixture.EachLayout(t, func(t *testing.T, copyStore func(testing.TB) *fixture.Store) {
		w := copyStore(t)
		report := w.Check(t, check.Inputs{Answers: fixture.WriteLines(t, w.Answers...), Canaries: fixture.WriteLines(t, "4242424242424242", "4000000000000077")})
		fixture.WantBroken(t, report)
		for i, want := range []findings.Outcome{
			findings.OK, findings.OK, findings.OK, findings.OK, findings.OK, findings.OK, findings.OK, findings.OK, findings.Skipped,
		} {
			if rule := report.Rules[i]; rule.Outcome != want || (want == findings.OK) != (rule.Count > 0) {
				t.Errorf("rule %d is %v after %d things, want %v", rule.Number, rule.Outcome, rule.Count, want)
			}
		}
		t.Logf("%+v", report.Counts)
	})
}
