package actors

import (
	"context"
	"sync"
	"time"

	"mizan/internal/tracing"
)

// Deadline is the context of one slow call. It ends at an instant of real time or with its parent. Unlike
// context.WithDeadline, it starts a timer only when Done is first called, because most calls end earlier.
type Deadline struct {
	parent  context.Context
	instant time.Time
	origin  tracing.Origin

	mu     sync.Mutex
	timed  context.Context    // guarded by mu: the context with the timer; nil until Done is first called
	cancel context.CancelFunc // guarded by mu: cancels the context timed
	ended  bool               // guarded by mu: End was called
}

var _ context.Context = (*Deadline)(nil)

// Begin makes the context end after a duration. It is called once, before every other method.
func (d *Deadline) Begin(parent context.Context, after time.Duration) {
	d.parent, d.instant = parent, time.Now().Add(after)
}

// SetOrigin sets the origin (the request that caused the call) that tracing.FromContext returns for this
// context. SetOrigin is called before the context is passed to the slow call.
func (d *Deadline) SetOrigin(o tracing.Origin) { d.origin = o }

// End ends the context and releases its timer.
func (d *Deadline) End() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended = true; d.cancel != nil {
		d.cancel()
	}
}

// Deadline implements context.Context.
func (d *Deadline) Deadline() (time.Time, bool) { return d.instant, true }

// Done implements context.Context.
func (d *Deadline) Done() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed, d.cancel = context.WithDeadline(d.parent, d.instant)
		if d.ended {
			d.cancel()
		}
	}
	return d.timed.Done()
}

// Err implements context.Context.
func (d *Deadline) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch err := d.parent.Err(); {
	case d.timed != nil:
		return d.timed.Err()
	case d.ended:
		return context.Canceled
	case err != nil:
		return err
	case !time.Now().Before(d.instant):
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context.
func (d *Deadline) Value(key any) any {
	if key == tracing.ContextKey {
		return &d.origin
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed != nil {
		// a context derived from this Deadline looks for its parent here: it finds timed, and ends when
		// timed ends
		return d.timed.Value(key)
	}
	return d.parent.Value(key)
}
