package webhook

import (
	"sync"
	"time"

	"mizan/internal/assert"
)

// lines holds the open connections, and counts those that are being opened.
type lines struct {
	most   int           // bound of open
	rest   time.Duration // an idle connection is closed after this time
	maxAge time.Duration // a connection is not used for longer

	mu        sync.Mutex
	open      int                     // guarded by mu: counted from reserve to end
	all       map[*line]struct{}      // guarded by mu
	idle      map[destination][]*line // guarded by mu: the longest idle first; no empty slices
	oldest    *line                   // guarded by mu: the connection that has been idle longest
	newest    *line                   // guarded by mu: the connection that became idle last
	idleTimer *time.Timer             // guarded by mu; nil: no sweep is scheduled
	closed    bool                    // guarded by mu
}

func newLines(most int, rest, maxAge time.Duration) *lines {
	return &lines{most: most, rest: rest, maxAge: maxAge, all: make(map[*line]struct{}), idle: make(map[destination][]*line)}
}

// take returns an idle connection to the destination that is still usable; nil if there is none. It
// takes the connection that was used last, so that surplus ones reach the idle limit.
func (s *lines) take(to destination) *line {
	for {
		s.mu.Lock()
		of := s.idle[to]
		if len(of) == 0 {
			s.mu.Unlock()
			return nil
		}
		l := of[len(of)-1]
		s.leave(l)
		s.mu.Unlock()
		now := time.Now()
		if now.Sub(l.rested) < s.rest && now.Sub(l.opened) < s.maxAge && l.still() {
			return l
		}
		s.end(l)
	}
}

// reserve makes room for one more connection, if need be by closing the one that has been idle
// longest. If all are open, one must be idle: the caller has none yet, and fewer than the bound are
// in use.
func (s *lines) reserve() {
	s.mu.Lock()
	var evicted *line
	if s.open == s.most {
		assert.That(s.oldest != nil, "more deliveries are under way than there may be connections")
		evicted = s.oldest
		s.leave(evicted)
		delete(s.all, evicted)
		s.open--
	}
	s.open++
	s.mu.Unlock()
	if evicted != nil {
		evicted.close()
	}
}

// cancel gives back the room for a connection that was not opened.
func (s *lines) cancel() {
	s.mu.Lock()
	s.open--
	s.mu.Unlock()
}

// add adds a connection for which room was reserved. It closes the connection if shut has run.
func (s *lines) add(l *line) {
	s.mu.Lock()
	closed := s.closed
	s.all[l] = struct{}{}
	s.mu.Unlock()
	if closed {
		l.drop()
	}
}

// end closes a connection that is not idle.
func (s *lines) end(l *line) {
	s.mu.Lock()
	delete(s.all, l)
	s.open--
	s.mu.Unlock()
	l.close()
}

// keep puts a connection aside for the next delivery.
func (s *lines) keep(l *line) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.end(l)
		return
	}
	l.rested = time.Now()
	s.idle[l.to] = append(s.idle[l.to], l)
	l.older, l.newer = s.newest, nil
	if s.newest == nil {
		s.oldest = l
	} else {
		s.newest.newer = l
	}
	s.newest = l
	if s.idleTimer == nil {
		s.idleTimer = time.AfterFunc(s.rest, s.closeIdle)
	}
	s.mu.Unlock()
}

// leave removes a connection from the idle ones. The caller holds mu.
func (s *lines) leave(l *line) {
	of := s.idle[l.to]
	if len(of) == 1 {
		delete(s.idle, l.to)
	} else if last := len(of) - 1; of[last] == l {
		of[last] = nil
		s.idle[l.to] = of[:last]
	} else {
		assert.That(of[0] == l, "a line that is neither the first nor the last to rest leaves")
		copy(of, of[1:])
		of[last] = nil
		s.idle[l.to] = of[:last]
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

// closeIdle closes the connections that have been idle for too long, and schedules itself for the next
// one.
func (s *lines) closeIdle() {
	var over []*line
	s.mu.Lock()
	now := time.Now()
	for l := s.oldest; l != nil && now.Sub(l.rested) >= s.rest; l = s.oldest {
		s.leave(l)
		delete(s.all, l)
		s.open--
		over = append(over, l)
	}
	s.idleTimer = nil
	if s.oldest != nil && !s.closed {
		s.idleTimer = time.AfterFunc(s.rest-now.Sub(s.oldest.rested), s.closeIdle)
	}
	s.mu.Unlock()
	for _, l := range over {
		l.close()
	}
}

// shut closes all connections, also those in use, and every one that is opened from now on.
func (s *lines) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.idleTimer != nil {
		s.idleTimer.Stop()
		s.idleTimer = nil
	}
	for s.oldest != nil {
		l := s.oldest
		s.leave(l)
		delete(s.all, l)
		s.open--
		l.drop()
	}
	for l := range s.all {
		l.drop() // the delivery that uses it calls end
	}
}
