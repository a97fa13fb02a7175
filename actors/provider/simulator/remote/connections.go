package remote

import (
	"context"
	"net"
	"sync"
	"time"
)

// Bounds of the connections of one Provider.
const (
	maxConnections = 256              // connections, idle ones included; further requests wait for one
	idleBound      = 20 * time.Second // shorter than the server's idleTimeout
	dialBound      = 5 * time.Second
)

// connections are a Provider's connections to the server.
type connections struct {
	address string
	slots   chan struct{} // has an element for each request in progress

	mu       sync.Mutex
	idle     []*connection // guarded by mu: the one that was used last is at the end; its length and that of slots are at most maxConnections
	sweep    *time.Timer   // guarded by mu: closes connections that have been idle for too long; nil: there are no idle ones
	isClosed bool          // guarded by mu
}

func newConnections(address string) *connections {
	return &connections{address: address, slots: make(chan struct{}, maxConnections)}
}

// acquire returns a connection for one request. An error means that nothing was sent. After the request the caller
// calls release.
func (s *connections) acquire(ctx context.Context, deadline time.Time) (*connection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case s.slots <- struct{}{}:
	default:
		select {
		case s.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	for c := s.takeIdle(); c != nil; c = s.takeIdle() {
		if c.isUsable() {
			return c, nil
		}
		_ = c.conn.Close() // it carries no request
	}
	dialer := net.Dialer{Timeout: dialBound, Deadline: deadline}
	conn, err := dialer.DialContext(ctx, "tcp", s.address)
	if err == nil {
		var c *connection
		if c, err = newConnection(conn); err == nil {
			return c, nil
		}
		_ = conn.Close() // nothing was sent
	}
	<-s.slots
	return nil, err
}

// release ends the use of a connection. A connection that cannot be used again is closed.
func (s *connections) release(c *connection, isReusable bool) {
	if !isReusable || !s.keep(c) {
		_ = c.conn.Close() // its request has ended
	}
	<-s.slots
}

func (s *connections) takeIdle() *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.idle) - 1
	if last < 0 {
		return nil
	}
	c := s.idle[last]
	s.idle[last] = nil
	s.idle = s.idle[:last]
	return c
}

// keep adds a connection to the idle ones. It returns false if all connections have been closed.
func (s *connections) keep(c *connection) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		return false
	}
	c.idleSince = time.Now()
	s.idle = append(s.idle, c)
	if s.sweep == nil {
		s.sweep = time.AfterFunc(idleBound, s.closeExpired)
	}
	return true
}

// closeExpired closes the connections that have been idle for idleBound.
func (s *connections) closeExpired() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, expired := time.Now(), 0
	for expired < len(s.idle) && now.Sub(s.idle[expired].idleSince) >= idleBound {
		_ = s.idle[expired].conn.Close() // it carries no request
		expired++
	}
	s.idle = append(s.idle[:0], s.idle[expired:]...)
	s.sweep = nil
	if len(s.idle) > 0 && !s.isClosed {
		s.sweep = time.AfterFunc(idleBound-now.Sub(s.idle[0].idleSince), s.closeExpired)
	}
}

// close closes the idle connections. A connection in use is closed after its request.
func (s *connections) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isClosed = true
	if s.sweep != nil {
		s.sweep.Stop()
	}
	for _, c := range s.idle {
		_ = c.conn.Close() // it carries no request
	}
	s.idle = nil
}
