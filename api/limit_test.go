package api

import (
	"encoding/binary"
	"testing"
	"time"

	"mizan/internal/testkit"
	"mizan/ledger"
)

// keyNumber returns the id of one of the tests' keys.
func keyNumber(n int) (id ledger.ID) {
	binary.BigEndian.PutUint32(id[:], uint32(n))
	return id
}

func TestBurstIsTwiceTheRate(t *testing.T) {
	limiters, now := newLimits(5), time.Unix(1000, 0)
	for i := range 10 {
		if !limiters.allow(keyNumber(1), now) {
			t.Fatalf("request %d of the burst is refused", i+1)
		}
	}
	if limiters.allow(keyNumber(1), now) {
		t.Error("more than the burst")
	}
	if !limiters.allow(keyNumber(2), now) {
		t.Error("another key's rate")
	}
	if now = now.Add(200 * time.Millisecond); !limiters.allow(keyNumber(1), now) || limiters.allow(keyNumber(1), now) {
		t.Error("after a fifth of a second one more may pass")
	}
}

func TestRequestsAreUnlimitedWithoutARate(t *testing.T) {
	if l := newLimits(0); l != nil || !l.allow(keyNumber(1), time.Now()) {
		t.Error("a rate of 0 must be off")
	}
}

func TestLimitersAreBounded(t *testing.T) {
	testkit.NotUnderRace(t, "it makes every limiter on one goroutine")
	limiters, now := newLimits(1), time.Unix(1000, 0)
	for n := range maxLimiters + 100 {
		if limiters.allow(keyNumber(n), now); len(limiters.keys) > maxLimiters {
			t.Fatalf("%d keys are remembered", len(limiters.keys))
		}
	}
	now = now.Add(time.Hour) // the burst of every key is full again
	if limiters.allow(keyNumber(-1), now); len(limiters.keys) != 1 {
		t.Errorf("%d keys are remembered after all rested", len(limiters.keys))
	}
}
