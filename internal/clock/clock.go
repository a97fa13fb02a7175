package clock

import (
	"errors"
	"sync/atomic"
	"time"
)

// Clock tells the business time.
type Clock interface {
	// Now returns the current instant in UTC, truncated to the microsecond.
	Now() time.Time
}

// Real is a clock that shows the machine's time. If the machine's clock is set back, Real stands still until the machine's
// clock has caught up.
type Real struct{}

// lastShown is the latest instant that a Real clock of this process has returned.
var lastShown latest

// Now implements Clock.
func (Real) Now() time.Time { return lastShown.advance(time.Now()) }

// latest holds an instant in microseconds. The instant never goes back.
type latest struct{ micros atomic.Int64 }

// advance replaces the instant by at if at is later, and returns the resulting instant.
func (l *latest) advance(at time.Time) time.Time {
	micros := at.UnixMicro()
	for {
		current := l.micros.Load()
		if micros <= current {
			return time.UnixMicro(current).UTC()
		}
		if l.micros.CompareAndSwap(current, micros) {
			return time.UnixMicro(micros).UTC()
		}
	}
}

// ErrBackwards is the error for an attempt to move a manual clock into the past.
var ErrBackwards = errors.New("the clock never moves back")

// Manual is a clock that stands still until it is set.
type Manual struct{ micros atomic.Int64 }

// NewManual returns a manual clock that is set to the given instant.
func NewManual(at time.Time) *Manual {
	m := new(Manual)
	m.micros.Store(at.UnixMicro())
	return m
}

// Now implements Clock.
func (m *Manual) Now() time.Time { return time.UnixMicro(m.micros.Load()).UTC() }

// Set moves the clock to the given instant. It returns ErrBackwards if the instant is before Now.
func (m *Manual) Set(to time.Time) error {
	for {
		now := m.micros.Load()
		if to.UnixMicro() < now {
			return ErrBackwards
		}
		if m.micros.CompareAndSwap(now, to.UnixMicro()) {
			return nil
		}
	}
}
