package payments

import (
	"testing"
	"time"
)

func TestCheckFailsSoonAfterTheDeadline(t *testing.T) {
	budget := runBudget{ctx: t.Context(), deadline: time.Now().Add(time.Hour)}
	for range 3 * checkEvery {
		if err := budget.check(); err != nil {
			t.Fatal(err)
		}
	}
	budget.deadline = time.Now().Add(-time.Second)
	calls := 1
	for budget.check() == nil {
		calls++
	}
	if calls > checkEvery {
		t.Errorf("noticed after %d checks, want one within %d", calls, checkEvery)
	}
}
