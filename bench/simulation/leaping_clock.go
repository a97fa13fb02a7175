package simulation

import (
	"sync"
	"time"
)

// leapingClock is a clock that follows the bubble's time, but can leap by a given time. It never goes back: after a leap
// backwards, Now returns the same time until the clock has caught up.
type leapingClock struct {
	mu     sync.Mutex
	offset time.Duration
	last   time.Time
}

// Now implements clock.Clock.
func (c *leapingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now().Add(c.offset).Truncate(time.Microsecond).UTC(); now.After(c.last) {
		c.last = now
	}
	return c.last
}

func (c *leapingClock) leap(by time.Duration) {
	c.Now() // the clocks of all machines stop at the same time, and not when each was read last
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += by
}
