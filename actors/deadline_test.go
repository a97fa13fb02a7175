package actors_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/actors"
	"mizan/internal/tracing"
)

// The test has three cases: the deadline is far away, it has passed, and it comes while a goroutine waits for it.
func TestDeadlineEndsAtItsInstant(t *testing.T) {
	var far, past, near actors.Deadline
	far.Begin(t.Context(), time.Hour)
	past.Begin(t.Context(), -time.Second)
	near.Begin(t.Context(), time.Millisecond)
	defer far.End()
	if err := far.Err(); err != nil {
		t.Errorf("an hour before its instant: %v", err)
	}
	if instant, ok := far.Deadline(); !ok || time.Until(instant) < 50*time.Minute {
		t.Errorf("its instant: %v, %v", instant, ok)
	}
	select {
	case <-far.Done():
		t.Error("done an hour before its instant")
	default:
	}
	for name, d := range map[string]*actors.Deadline{"past": &past, "near": &near} {
		if name == "past" && !errors.Is(d.Err(), context.DeadlineExceeded) {
			t.Errorf("%s, before anybody waits: %v", name, d.Err())
		}
		mustReturn(t, name, func() { <-d.Done() })
		if !errors.Is(d.Err(), context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, d.Err())
		}
		d.End()
	}
}

// A Deadline, and each context made from it, ends with its parent and when End is called, whether Done was called
// before or not.
func TestDeadlineEndsEarly(t *testing.T) {
	for _, waitsBefore := range []bool{false, true} {
		for name, end := range map[string]func(*actors.Deadline, context.CancelFunc){
			"parent": func(_ *actors.Deadline, cancelParent context.CancelFunc) { cancelParent() },
			"End":    func(d *actors.Deadline, _ context.CancelFunc) { d.End() },
		} {
			parent, cancelParent := context.WithCancel(t.Context())
			defer cancelParent()
			var d actors.Deadline
			d.Begin(parent, time.Hour)
			ctx := context.Context(&d)
			if waitsBefore {
				child, cancelChild := context.WithCancel(ctx)
				defer cancelChild()
				ctx = child
			}
			if ctx.Err() != nil {
				t.Errorf("%s, waits before: %v: %v at the beginning", name, waitsBefore, ctx.Err())
			}
			end(&d, cancelParent)
			if !errors.Is(ctx.Err(), context.Canceled) {
				t.Errorf("%s, waits before: %v: %v", name, waitsBefore, ctx.Err())
			}
			mustReturn(t, name, func() { <-ctx.Done() })
			d.End()
		}
	}
}

// The origin is found in the context and in contexts derived from it, before and after Done is called.
func TestDeadlineHasItsOrigin(t *testing.T) {
	var d actors.Deadline
	d.Begin(t.Context(), time.Hour)
	origin := tracing.Origin{Request: uuid.UUID{1}}
	d.SetOrigin(origin)
	defer d.End()
	for _, waits := range []bool{false, true} {
		if waits {
			_ = d.Done()
		}
		derived, cancel := context.WithCancel(&d)
		if got := tracing.FromContext(derived); got != origin {
			t.Errorf("somebody waits: %v; the origin is %v", waits, got)
		}
		cancel()
	}
}
