package webhook

import (
	"sync"
	"time"

	"mizan/internal/assert"
)

// connections holds the open connections, and counts those that are being opened.
type connections struct {
	maxOpen   int           // maximum number of open connections
	idleLimit time.Duration // an idle connection is closed after this time
	maxAge    time.Duration // an older connection is not reused

	mu        sync.Mutex
	openCount int                           // guarded by mu: connections that are open or being opened
	open      map[*connection]struct{}      // guarded by mu
	idle      map[destination][]*connection // guarded by mu: in each slice the longest idle first; no empty slices
	oldest    *connection                   // guarded by mu: the connection that has been idle longest
	newest    *connection                   // guarded by mu: the connection that became idle last
	idleTimer *time.Timer                   // guarded by mu; nil: no sweep is scheduled
	isClosed  bool                          // guarded by mu
}

func newConnections(maxOpen int, idleLimit, maxAge time.Duration) *connections {
	return &connections{maxOpen: maxOpen, idleLimit: idleLimit, maxAge: maxAge, open: make(map[*connection]struct{}), idle: make(map[destination][]*connection)}
}

// take returns an idle connection to the destination. If no idle connection is still usable, take returns
// nil. The connection that was used last is taken first, so that connections that are not needed reach the
// idle limit.
func (s *connections) take(to destination) *connection {
	for {
		s.mu.Lock()
		sameDestination := s.idle[to]
		if len(sameDestination) == 0 {
			s.mu.Unlock()
			return nil
		}
		c := sameDestination[len(sameDestination)-1]
		s.removeIdle(c)
		s.mu.Unlock()
		now := time.Now()
		if now.Sub(c.idleSince) < s.idleLimit && now.Sub(c.opened) < s.maxAge && c.isUsable() {
			return c
		}
		s.closeUsed(c)
	}
}

// reserve makes room for one more connection. If necessary, it closes the connection that has been idle
// longest. If maxOpen connections are open, one of them is idle: at most maxOpen deliveries are in
// progress, and the caller's delivery has no connection yet.
func (s *connections) reserve() {
	s.mu.Lock()
	var evicted *connection
	if s.openCount == s.maxOpen {
		assert.That(s.oldest != nil, "more deliveries are under way than there may be connections")
		evicted = s.oldest
		s.removeIdle(evicted)
		delete(s.open, evicted)
		s.openCount--
	}
	s.openCount++
	s.mu.Unlock()
	if evicted != nil {
		evicted.close()
	}
}

// cancelReservation releases the room for a connection that was not opened.
func (s *connections) cancelReservation() {
	s.mu.Lock()
	s.openCount--
	s.mu.Unlock()
}

// add adds a connection for which room was reserved. It closes the connection if closeAll has run.
func (s *connections) add(c *connection) {
	s.mu.Lock()
	closed := s.isClosed
	s.open[c] = struct{}{}
	s.mu.Unlock()
	if closed {
		c.drop()
	}
}

// closeUsed closes a connection that is not idle.
func (s *connections) closeUsed(c *connection) {
	s.mu.Lock()
	delete(s.open, c)
	s.openCount--
	s.mu.Unlock()
	c.close()
}

// addIdle keeps a connection for the next delivery to its destination.
func (s *connections) addIdle(c *connection) {
	s.mu.Lock()
	if s.isClosed {
		s.mu.Unlock()
		s.closeUsed(c)
		return
	}
	c.idleSince = time.Now()
	s.idle[c.destination] = append(s.idle[c.destination], c)
	c.older, c.newer = s.newest, nil
	if s.newest == nil {
		s.oldest = c
	} else {
		s.newest.newer = c
	}
	s.newest = c
	if s.idleTimer == nil {
		s.idleTimer = time.AfterFunc(s.idleLimit, s.closeExpired)
	}
	s.mu.Unlock()
}

// removeIdle removes a connection from the idle ones. The caller holds mu.
func (s *connections) removeIdle(c *connection) {
	sameDestination := s.idle[c.destination]
	if len(sameDestination) == 1 {
		delete(s.idle, c.destination)
	} else if last := len(sameDestination) - 1; sameDestination[last] == c {
		sameDestination[last] = nil
		s.idle[c.destination] = sameDestination[:last]
	} else {
		assert.That(sameDestination[0] == c, "only the oldest or the newest idle connection of a destination may be removed")
		copy(sameDestination, sameDestination[1:])
		sameDestination[last] = nil
		s.idle[c.destination] = sameDestination[:last]
	}
	if c.older == nil {
		s.oldest = c.newer
	} else {
		c.older.newer = c.newer
	}
	if c.newer == nil {
		s.newest = c.older
	} else {
		c.newer.older = c.older
	}
	c.older, c.newer = nil, nil
}

// closeExpired closes the connections that have been idle for too long, and schedules its next run for the
// connection that reaches the limit next.
func (s *connections) closeExpired() {
	var expired []*connection
	s.mu.Lock()
	now := time.Now()
	for c := s.oldest; c != nil && now.Sub(c.idleSince) >= s.idleLimit; c = s.oldest {
		s.removeIdle(c)
		delete(s.open, c)
		s.openCount--
		expired = append(expired, c)
	}
	s.idleTimer = nil
	if s.oldest != nil && !s.isClosed {
		s.idleTimer = time.AfterFunc(s.idleLimit-now.Sub(s.oldest.idleSince), s.closeExpired)
	}
	s.mu.Unlock()
	for _, c := range expired {
		c.close()
	}
}

// closeAll closes all connections, including those in use. From then on add closes each connection that is
// opened.
func (s *connections) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isClosed = true
	if s.idleTimer != nil {
		s.idleTimer.Stop()
		s.idleTimer = nil
	}
	for s.oldest != nil {
		c := s.oldest
		s.removeIdle(c)
		delete(s.open, c)
		s.openCount--
		c.drop()
	}
	for c := range s.open {
		c.drop() // the delivery that uses the connection then calls closeUsed
	}
}
