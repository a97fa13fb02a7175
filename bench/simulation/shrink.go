package simulation

import (
	"regexp"
	"slices"
)

// Shrink shortens a plan that fails. It removes rounds, steps and kinds of faults as long as the shorter plan fails too.
func Shrink(plan Plan, fails func(Plan) bool) Plan {
	try := func(shorter Plan) bool {
		if fails(shorter) {
			plan = shorter
			return true
		}
		return false
	}
	for i := len(plan.Rounds) - 1; i >= 0; i-- { // begins with the last rounds, because most of them come after the failure
		shorter := plan
		shorter.Rounds = slices.Delete(slices.Clone(plan.Rounds), i, i+1)
		try(shorter)
	}
	for _, off := range []func(*Faults){
		func(f *Faults) { f.SyncFails = false }, func(f *Faults) { f.SlowDisk = false }, func(f *Faults) { f.FullDisk = false },
		func(f *Faults) { f.LostCalls = false }, func(f *Faults) { f.TwiceCalls = false }, func(f *Faults) { f.Receivers = false },
		func(f *Faults) { f.Flips = false }, func(f *Faults) { f.CrashStarts = false }, func(f *Faults) { f.Leaps = false },
		func(f *Faults) { f.Misdirects = false }, func(f *Faults) { f.Overflows = false },
		func(f *Faults) { f.Cuts = false }, func(f *Faults) { f.Delays = false }, func(f *Faults) { f.Losses = false },
		func(f *Faults) { f.Skew = false }, func(f *Faults) { f.Transfers = false },
	} {
		simpler := plan
		if off(&simpler.Faults); simpler.Faults != plan.Faults {
			try(simpler)
		}
	}
	for i := range plan.Rounds {
		for plan.Rounds[i].Steps > 1 {
			shorter := plan
			shorter.Rounds = slices.Clone(plan.Rounds)
			shorter.Rounds[i].Steps /= 2
			if !try(shorter) {
				break
			}
		}
	}
	return plan
}

// varying matches the parts of a violation's text that may differ between violations of the same kind: ids, numbers, paths and
// all text after a colon.
var varying = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9]+|/[^ ]*|: .*`)

// Kind returns the part of a violation's text that all violations of the same kind share.
func Kind(violation string) string { return varying.ReplaceAllString(violation, "…") }
