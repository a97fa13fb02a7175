package api

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// What is still read from a caller that was hung up on.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 16 << 20
)

// listener gives the server connections that wipe, linger, and can be let go
// before they have asked for anything.
type listener struct {
	net.Listener
	silent *silent
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	line := &line{under: c, silent: l.silent}
	l.silent.add(line)
	if secure, ok := c.(*tls.Conn); ok {
		return &secureConnection{Conn: secure, line: line}, nil
	}
	return &connection{Conn: c, line: line}, nil
}

// connection is a line in the clear.
type connection struct {
	net.Conn
	*line
}

// Read implements net.Conn.
func (c *connection) Read(p []byte) (int, error) { return c.line.read(p) }

// Close implements net.Conn.
func (c *connection) Close() error { return c.line.close() }

// secureConnection is a line with the methods by which the server knows TLS.
type secureConnection struct {
	*tls.Conn
	*line
}

// Read implements net.Conn.
func (c *secureConnection) Read(p []byte) (int, error) { return c.line.read(p) }

// Close implements net.Conn.
func (c *secureConnection) Close() error { return c.line.close() }

// line is what both kinds of connections do.
type line struct {
	under  net.Conn
	silent *silent
	spoke  atomic.Bool // the caller has sent something
	linger atomic.Bool
}

// read overwrites what the reader's buffer kept of the last request before it
// is filled again: the reader asks only for the part that it is done with.
func (l *line) read(p []byte) (int, error) {
	clear(p)
	n, err := l.under.Read(p)
	if n > 0 && !l.spoke.Load() && !l.silent.remove(l) {
		return 0, net.ErrClosed // let go at this moment: nothing of it may begin
	}
	return n, err
}

// close ends the connection. Closing one that has unread bytes resets it, and a
// caller that is still sending would never see why it was refused: so where the
// server hung up, what it sends is read for a while first.
func (l *line) close() error {
	l.silent.remove(l)
	if l.linger.Load() {
		half, ok := l.under.(interface{ CloseWrite() error })
		if ok && half.CloseWrite() == nil && l.under.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = io.CopyN(io.Discard, l.under, lingerBytes)
		}
	}
	return l.under.Close()
}

func (l *line) hangUp() { l.linger.Store(true) }

// hangUp ends the connection after this answer although the caller may still be
// sending.
func hangUp(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	if c, ok := ctx.Conn().(interface{ hangUp() }); ok {
		c.hangUp()
	}
}

// silent are the connections that have not sent anything yet. The transport
// takes them for busy until their read time-out, so a stop would wait for them.
type silent struct {
	mu    sync.Mutex
	lines map[*line]struct{} // guarded by mu
	gone  bool               // guarded by mu
}

func (s *silent) add(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		_ = l.under.Close()
		return
	}
	if s.lines == nil {
		s.lines = make(map[*line]struct{})
	}
	s.lines[l] = struct{}{}
}

// remove tells whether the line was still there.
func (s *silent) remove(l *line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.lines[l]; !there {
		return false
	}
	delete(s.lines, l)
	l.spoke.Store(true)
	return true
}

// letGo closes them all, and those that come later.
func (s *silent) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	for l := range s.lines {
		_ = l.under.Close()
	}
	clear(s.lines)
}
