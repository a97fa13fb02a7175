package payments

import (
	"testing"
	"time"
)

func TestWaitForATurnEndsWithItsTime(t *testing.T) {
	p := runBudget{ctx: t.Context(), deadline: time.Now().Add(time.Hour)}
	for range 3 * checkEvery {
		if err := p.check(); err != nil {
			t.Fatal(err)
		}
	}
	p.deadline = time.Now().Add(-time.Second)
	n := 1
	for p.check() == nil {
		n++
	}
	if n > checkEvery {
		t.Errorf("noticed after %d looks, want one within %d", n, checkEvery)
	}
}
