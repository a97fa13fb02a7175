package posting_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mizan/posting"
)

// TestMeasureProofs measures how long it takes to make proofs in a journal of a million entries. Each proof is made in a new
// view.
func TestMeasureProofs(t *testing.T) {
	j := openMeasuredJournal(t)
	random := rand.New(rand.NewPCG(5, 6))
	v := j.View()
	size, _, err := v.Head(org)
	v.Close()
	if err != nil || size < figureEntries {
		t.Fatalf("%d events (%v)", size, err)
	}
	t.Logf("%d events", size)
	for _, query := range []struct {
		name string
		run  func(v *posting.View) error
	}{
		{"inclusion in the head", func(v *posting.View) error {
			_, err := v.Inclusion(org, 1+random.Uint64N(size), size)
			return err
		}},
		{"inclusion in any earlier tree", func(v *posting.View) error {
			treeSize := 1 + random.Uint64N(size)
			_, err := v.Inclusion(org, 1+random.Uint64N(treeSize), treeSize)
			return err
		}},
		{"consistency of any earlier tree with the head", func(v *posting.View) error {
			_, err := v.Consistency(org, 1+random.Uint64N(size), size)
			return err
		}},
	} {
		var durations []time.Duration
		before := cpuTime(t)
		for range 2000 {
			v := j.View()
			started := time.Now()
			err := query.run(v)
			durations = append(durations, time.Since(started))
			v.Close()
			if err != nil {
				t.Fatal(err)
			}
		}
		cpuPerRun := (cpuTime(t) - before) / time.Duration(len(durations))
		slices.Sort(durations)
		t.Logf("%s: p50 %v, p99 %v, slowest %v of %d; %v of CPU each", query.name, durations[len(durations)/2], durations[len(durations)*99/100], durations[len(durations)-1], len(durations), cpuPerRun)
	}
}
