package simulator

import (
	"context"
	"sync"
	"testing"
	"time"

	"mizan/actors"
)

func TestCallsFromManyGoroutinesAreEachLoggedOnce(t *testing.T) {
	const workers, calls = 8, 200
	numbers := []string{"4242424242424242", "4000000000000002", "4000000000000077", chargebackCard}
	b := open(t)
	b.index.bound = 64
	b.chargebacks.bound = 16
	b.tape.chunk = 4096
	var all sync.WaitGroup
	for w := range uint64(workers) {
		all.Go(func() {
			for i := range uint64(calls) {
				n := w*calls + i
				answer := b.submit(cardCall(n, actors.Pay, numbers[n%4]))
				if again := b.inquire(n); again != answer {
					t.Errorf("call %d: answered %+v, inquired %+v", n, answer, again)
				}
				if i%50 == 0 {
					if _, err := b.Reversals(context.Background(), time.Time{}, minute(1)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	count := make(map[string]int)
	for _, line := range b.logged() {
		count[line["reference"]]++
	}
	for n := range uint64(workers * calls) {
		if count[id(n).String()] != 1 {
			t.Errorf("call %d has %d lines", n, count[id(n).String()])
		}
	}
	list, err := b.Reversals(context.Background(), time.Time{}, minute(1))
	if err != nil || len(list) != workers*calls/4 {
		t.Errorf("%d reversals, %v, want %d", len(list), err, workers*calls/4)
	}
}

func TestOneReferenceFromManyGoroutinesHasOneAnswer(t *testing.T) {
	const workers = 32
	b := open(t)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			number := []string{"4242424242424242", "4000000000000002"}[w%2]
			b.submit(cardCall(1, actors.Pay, number))
		})
	}
	all.Wait()
	lines := b.logged()
	if len(lines) != workers {
		t.Errorf("%d lines, want %d", len(lines), workers)
	}
	for _, line := range lines {
		if line["outcome"] != lines[0]["outcome"] {
			t.Errorf("outcomes %s and %s", lines[0]["outcome"], line["outcome"])
		}
	}
}
