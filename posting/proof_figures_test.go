package posting_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mizan/posting"
)

// TestFiguresOfProofs measures proofs in a journal of a million entries. Each proof has a view of its own.
func TestFiguresOfProofs(t *testing.T) {
	j := openMeasuredJournal(t)
	random := rand.New(rand.NewPCG(5, 6))
	v := j.View()
	size, _, err := v.Head(org)
	v.Close()
	if err != nil || size < figureEntries {
		t.Fatalf("%d events (%v)", size, err)
	}
	t.Logf("%d events", size)
	for _, question := range []struct {
		name string
		ask  func(v *posting.View) error
	}{
		{"inclusion in the head", func(v *posting.View) error {
			_, err := v.Inclusion(org, 1+random.Uint64N(size), size)
			return err
		}},
		{"inclusion in any earlier tree", func(v *posting.View) error {
			of := 1 + random.Uint64N(size)
			_, err := v.Inclusion(org, 1+random.Uint64N(of), of)
			return err
		}},
		{"consistency of any earlier tree with the head", func(v *posting.View) error {
			_, err := v.Consistency(org, 1+random.Uint64N(size), size)
			return err
		}},
	} {
		var all []time.Duration
		before := cpuTime(t)
		for range 2000 {
			v := j.View()
			started := time.Now()
			err := question.ask(v)
			all = append(all, time.Since(started))
			v.Close()
			if err != nil {
				t.Fatal(err)
			}
		}
		each := (cpuTime(t) - before) / time.Duration(len(all))
		slices.Sort(all)
		t.Logf("%s: p50 %v, p99 %v, slowest %v of %d; %v of CPU each", question.name, all[len(all)/2], all[len(all)*99/100], all[len(all)-1], len(all), each)
	}
}
