package snapshots_test

import (
	"testing"

	"mizan/snapshots"
)

func TestASoundStoreBreaksNoRule(t *testing.T) {
	eachWay(t, func(t *testing.T, settle func(testing.TB) *town) {
		w := settle(t)
		report := w.check(t, snapshots.Inputs{Answers: file(t, w.answers...), Canaries: file(t, "4242424242424242", "4000000000000077")})
		wantBroken(t, report)
		for i, want := range []snapshots.Outcome{
			snapshots.OK, snapshots.OK, snapshots.OK, snapshots.OK, snapshots.OK, snapshots.OK, snapshots.OK, snapshots.OK, snapshots.Skipped,
		} {
			if rule := report.Rules[i]; rule.Outcome != want || (want == snapshots.OK) != (rule.Count > 0) {
				t.Errorf("rule %d is %v after %d things, want %v", rule.Number, rule.Outcome, rule.Count, want)
			}
		}
		t.Logf("%+v", report.Counts)
	})
}
