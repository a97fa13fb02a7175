package webhook

import (
	"sync"
	"time"

	"mizan/internal/assert"
)

// connections holds the open connections, and counts those that are being opened.
type connections struct {
	maxOpen   int           // how many connections may be open
	idleLimit time.Duration // an idle connection is closed after this time
	maxAge    time.Duration // a connection is not used for longer

	mu        sync.Mutex
	openCount int                           // guarded by mu: connections from reserve to closeUsed
	all       map[*connection]struct{}      // guarded by mu
	idle      map[destination][]*connection // guarded by mu: the longest idle first; no empty slices
	oldest    *connection                   // guarded by mu: the connection that has been idle longest
	newest    *connection                   // guarded by mu: the connection that became idle last
	idleTimer *time.Timer                   // guarded by mu; nil: no sweep is scheduled
	closed    bool                          // guarded by mu
}

func newConnections(maxOpen int, idleLimit, maxAge time.Duration) *connections {
	return &connections{maxOpen: maxOpen, idleLimit: idleLimit, maxAge: maxAge, all: make(map[*connection]struct{}), idle: make(map[destination][]*connection)}
}

// take returns an idle connection to the destination that is still usable; nil if there is none. It
// takes the one that was used last, so that unneeded connections reach the idle limit.
func (s *connections) take(to destination) *connection {
	for {
		s.mu.Lock()
		sameDestination := s.idle[to]
		if len(sameDestination) == 0 {
			s.mu.Unlock()
			return nil
		}
		l := sameDestination[len(sameDestination)-1]
		s.removeIdle(l)
		s.mu.Unlock()
		now := time.Now()
		if now.Sub(l.idleSince) < s.idleLimit && now.Sub(l.opened) < s.maxAge && l.usable() {
			return l
		}
		s.closeUsed(l)
	}
}

// reserve makes room for one more connection, if need be by closing the one that has been idle longest.
// If the bound is reached, some connection is idle: fewer deliveries than the bound are in progress
// besides the caller's, which has no connection yet.
func (s *connections) reserve() {
	s.mu.Lock()
	var evicted *connection
	if s.openCount == s.maxOpen {
		assert.That(s.oldest != nil, "more deliveries are under way than there may be connections")
		evicted = s.oldest
		s.removeIdle(evicted)
		delete(s.all, evicted)
		s.openCount--
	}
	s.openCount++
	s.mu.Unlock()
	if evicted != nil {
		evicted.close()
	}
}

// cancel releases the room for a connection that was not opened.
func (s *connections) cancel() {
	s.mu.Lock()
	s.openCount--
	s.mu.Unlock()
}

// add adds a connection for which room was reserved. It closes the connection if closeAll has run.
func (s *connections) add(l *connection) {
	s.mu.Lock()
	closed := s.closed
	s.all[l] = struct{}{}
	s.mu.Unlock()
	if closed {
		l.drop()
	}
}

// closeUsed closes a connection that is not idle.
func (s *connections) closeUsed(l *connection) {
	s.mu.Lock()
	delete(s.all, l)
	s.openCount--
	s.mu.Unlock()
	l.close()
}

// addIdle puts a connection aside for the next delivery.
func (s *connections) addIdle(l *connection) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.closeUsed(l)
		return
	}
	l.idleSince = time.Now()
	s.idle[l.to] = append(s.idle[l.to], l)
	l.older, l.newer = s.newest, nil
	if s.newest == nil {
		s.oldest = l
	} else {
		s.newest.newer = l
	}
	s.newest = l
	if s.idleTimer == nil {
		s.idleTimer = time.AfterFunc(s.idleLimit, s.closeIdle)
	}
	s.mu.Unlock()
}

// removeIdle removes a connection from the idle ones. The caller holds mu.
func (s *connections) removeIdle(l *connection) {
	sameDestination := s.idle[l.to]
	if len(sameDestination) == 1 {
		delete(s.idle, l.to)
	} else if last := len(sameDestination) - 1; sameDestination[last] == l {
		sameDestination[last] = nil
		s.idle[l.to] = sameDestination[:last]
	} else {
		assert.That(sameDestination[0] == l, "a connection that has been idle neither longest nor shortest leaves")
		copy(sameDestination, sameDestination[1:])
		sameDestination[last] = nil
		s.idle[l.to] = sameDestination[:last]
	}
	if l.older == nil {
		s.oldest = l.newer
	} else {
		l.older.newer = l.newer
	}
	if l.newer == nil {
		s.newest = l.older
	} else {
		l.newer.older = l.older
	}
	l.older, l.newer = nil, nil
}

// closeIdle closes the connections that have been idle for too long, and schedules its next run for the
// connection that reaches the limit next.
func (s *connections) closeIdle() {
	var over []*connection
	s.mu.Lock()
	now := time.Now()
	for l := s.oldest; l != nil && now.Sub(l.idleSince) >= s.idleLimit; l = s.oldest {
		s.removeIdle(l)
		delete(s.all, l)
		s.openCount--
		over = append(over, l)
	}
	s.idleTimer = nil
	if s.oldest != nil && !s.closed {
		s.idleTimer = time.AfterFunc(s.idleLimit-now.Sub(s.oldest.idleSince), s.closeIdle)
	}
	s.mu.Unlock()
	for _, l := range over {
		l.close()
	}
}

// closeAll closes all connections, also those in use. From then on add closes each connection that is opened.
func (s *connections) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.idleTimer != nil {
		s.idleTimer.Stop()
		s.idleTimer = nil
	}
	for s.oldest != nil {
		l := s.oldest
		s.removeIdle(l)
		delete(s.all, l)
		s.openCount--
		l.drop()
	}
	for l := range s.all {
		l.drop() // the delivery that uses it calls closeUsed
	}
}
