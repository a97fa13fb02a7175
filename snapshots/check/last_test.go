package check_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"mizan/snapshots/check"
	"mizan/snapshots/check/findings"
)

func TestLastResultIsReadAsItWasSaved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if last, err := check.ReadLast(dir); last != nil || err != nil {
		t.Errorf("before any check: %v %v", last, err)
	}
	at := time.Date(2026, 9, 3, 10, 15, 30, 123_456_000, time.UTC)
	report := findings.New()
	report.Rules[1].Outcome = findings.Broken
	report.Skip(findings.RuleCanaries)
	for _, earlier := range []time.Duration{-time.Hour, 0} { // a later result replaces an earlier one
		if err := check.SaveLast(dir, report, at.Add(earlier)); err != nil {
			t.Fatal(err)
		}
	}
	last, err := check.ReadLast(dir)
	if err != nil || !last.At.Equal(at) || len(last.Rules) != 9 {
		t.Fatalf("%+v %v", last, err)
	}
	for number, outcome := range map[int]string{1: "ok", 2: "FAIL", 8: "skipped"} {
		if rule := last.Rules[number-1]; rule.Number != number || rule.Outcome != outcome || rule.Name == "" {
			t.Errorf("rule %d: %+v, want %s", number, rule, outcome)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, check.LastFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := check.ReadLast(dir); err == nil {
		t.Error("a damaged file is read")
	}
}
