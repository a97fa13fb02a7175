package testseed

import (
	"testing"
	"time"
)

func TestVariablesAreRead(t *testing.T) {
	t.Setenv(SeedVariable, "77")
	t.Setenv(SoakVariable, "90s")
	first, second := Random(t).Uint64(), Random(t).Uint64()
	if Seed(t) != 77 || SeedOr(t, 1) != 77 || SoakTime(t) != 90*time.Second || first != second {
		t.Error("the variables have no effect")
	}
}

func TestAbsentVariables(t *testing.T) {
	t.Setenv(SeedVariable, "")
	t.Setenv(SoakVariable, "")
	first, second := Seed(t), Seed(t)
	if SeedOr(t, 5) != 5 || first == second {
		t.Error("without the variable a seed is the default, or a random one")
	}
	if d, isSet := SoakTimeIfSet(t); d != 0 || isSet {
		t.Errorf("without the variable a soak takes %v, %v", d, isSet)
	}
	if !t.Run("skipped", func(t *testing.T) {
		SoakTime(t)
		t.Error("the test is not skipped")
	}) {
		t.Error("a soak test without a duration must be skipped")
	}
}

// refusal is a testing.TB that only records whether it failed.
type refusal struct {
	testing.TB
	failed bool
}

func (r *refusal) Fatalf(string, ...any) { r.failed = true }

func TestUnreadableVariablesFail(t *testing.T) {
	t.Setenv(SeedVariable, "many")
	t.Setenv(SoakVariable, "long")
	seed, soak := &refusal{TB: t}, &refusal{TB: t}
	Seed(seed)
	SoakTimeIfSet(soak)
	if !seed.failed || !soak.failed {
		t.Errorf("seed %v, duration %v", seed.failed, soak.failed)
	}
}
