package actors_test

import (
	"testing"
	"time"

	"mizan/internal/testkit"
)

// Quiesce waits for a call that is made later, and Stop makes the call at once.
func TestCallInCountsAsWork(t *testing.T) {
	w := testkit.NewWorld(t, time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC))
	w.Open()
	isCalled := false
	w.Runtime.CallAfter(20*time.Millisecond, func() { isCalled = true })
	w.Runtime.Quiesce()
	if !isCalled {
		t.Error("Quiesce has not waited for the call")
	}
	isCalled = false
	w.Runtime.CallAfter(24*time.Hour, func() { isCalled = true })
	w.Close()
	if !isCalled {
		t.Error("Stop has not made the call")
	}
}
