package conn

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"mizan/api/connlimit"
	"mizan/internal/wiping"
)

// Before the server closes a connection, it reads from the caller within these bounds.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 16 << 20
)

// Listener accepts connections that wipe their buffers, deliver a refusal before they close, and can
// be closed while the caller has sent nothing.
type Listener struct {
	net.Listener
	SilentConnections *SilentConnections
}

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	b := &baseConn{raw: c, silent: l.SilentConnections}
	l.SilentConnections.add(b)
	b.place, _ = socketOf(c).(*connlimit.Conn)
	if secure, ok := c.(*wiping.Conn); ok {
		return &secureConnection{Conn: secure, baseConn: b}, nil
	}
	return &connection{Conn: c, baseConn: b}, nil
}

// socketOf returns the connection below TLS. If the connection has no TLS, it returns the connection itself.
func socketOf(c net.Conn) net.Conn {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		return secure.NetConn()
	}
	return c
}

// NoteState wipes the buffer of a connection that has ended. fasthttp calls NoteState when a connection's state changes.
func NoteState(c net.Conn, state fasthttp.ConnState) {
	if wiper, isOurs := c.(interface{ wipe() }); isOurs && state == fasthttp.StateClosed {
		wiper.wipe()
	}
}

// connection is a connection without TLS.
type connection struct {
	net.Conn
	*baseConn
}

// wipe is called when fasthttp no longer uses the connection.
func (c *connection) wipe() { c.baseConn.wipe() }

// Read implements net.Conn.
func (c *connection) Read(p []byte) (int, error) { return c.baseConn.read(p) }

// Write implements net.Conn.
func (c *connection) Write(p []byte) (int, error) { return c.baseConn.write(p) }

// SetReadDeadline implements net.Conn.
func (c *connection) SetReadDeadline(t time.Time) error {
	return c.baseConn.deadlines.setReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *connection) SetWriteDeadline(t time.Time) error {
	return c.baseConn.deadlines.setWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *connection) SetDeadline(t time.Time) error { return c.baseConn.deadlines.want(t) }

// Close implements net.Conn.
func (c *connection) Close() error { return c.baseConn.close() }

// secureConnection is a connection over TLS. The embedded *wiping.Conn has the methods by which fasthttp recognizes TLS.
type secureConnection struct {
	*wiping.Conn
	*baseConn
}

// Read implements net.Conn.
func (c *secureConnection) Read(p []byte) (int, error) { return c.baseConn.read(p) }

// Write implements net.Conn.
func (c *secureConnection) Write(p []byte) (int, error) { return c.baseConn.write(p) }

// SetReadDeadline implements net.Conn.
func (c *secureConnection) SetReadDeadline(t time.Time) error {
	return c.baseConn.deadlines.setReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *secureConnection) SetWriteDeadline(t time.Time) error {
	return c.baseConn.deadlines.setWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *secureConnection) SetDeadline(t time.Time) error { return c.baseConn.deadlines.want(t) }

// Close implements net.Conn.
func (c *secureConnection) Close() error { return c.baseConn.close() }

// wipe is called when fasthttp no longer uses the connection.
func (c *secureConnection) wipe() {
	c.baseConn.wipe()
	c.Conn.Wipe()
}

// baseConn is the common part of both kinds of connections.
type baseConn struct {
	raw     net.Conn // the accepted connection
	silent  *SilentConnections
	place   *connlimit.Conn // the connection in the gate that bounds the number of connections; nil if there is no gate
	hasSent atomic.Bool     // the caller has sent something
	ended   atomic.Bool     // the caller has closed its side
	hungUp  atomic.Bool
	buffer  []byte // the buffer of fasthttp's reader; nil before the first read
	used    int    // only buffer[:used] may contain bytes of requests

	deadlines deadlines
}

// read reads from the connection into p, which is a part of the buffer of fasthttp's reader. Before the read, it overwrites the
// bytes that the previous request has left in p.
func (b *baseConn) read(p []byte) (int, error) {
	if b.buffer == nil {
		b.buffer = p[:cap(p)]  // at the first read, fasthttp's reader is empty and passes its whole buffer
		b.used = len(b.buffer) // an earlier connection may have used the whole buffer
		readerBuffers.take(b)
	}
	reuses, at := b.reuses(p), len(b.buffer)-cap(p)
	if reuses {
		clear(p[:max(0, b.used-at)])
	}
	if err := b.deadlines.beforeRead(b.raw); err != nil {
		return 0, err
	}
	n, err := b.raw.Read(p)
	if reuses {
		b.used = at + n
	}
	switch {
	case err == io.EOF && n > 0:
		err = nil // TLS reports the end together with the last bytes; the next read reports it again
	case err == io.EOF:
		b.ended.Store(true)
	}
	if n > 0 && !b.hasSent.Load() && !b.silent.remove(b) {
		return 0, net.ErrClosed // CloseAll has just closed the connection, so the request must not begin
	}
	return n, err
}

func (b *baseConn) write(p []byte) (int, error) {
	if err := b.deadlines.beforeWrite(b.raw); err != nil {
		return 0, err
	}
	return b.raw.Write(p)
}

// reuses tells whether p is a part of the reader's buffer, which may contain old data. fasthttp reads a large body into a new
// buffer instead.
func (b *baseConn) reuses(p []byte) bool {
	return len(p) > 0 && &p[:cap(p)][cap(p)-1] == &b.buffer[len(b.buffer)-1]
}

// close closes the connection. Closing a connection with unread bytes resets it, and a caller that is still sending would never
// see the refusal. So if HangUp was called, close first reads what the caller still sends, for a bounded time.
func (b *baseConn) close() error {
	b.silent.remove(b)
	if b.hungUp.Load() { // a handler has called HangUp; now fasthttp has finished the request and closes the connection
		b.wipe()
		halfCloser, ok := b.raw.(interface{ CloseWrite() error })
		if ok && halfCloser.CloseWrite() == nil && b.raw.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = Discard(b.raw, lingerBytes)
		}
	}
	return b.raw.Close()
}

// wipe overwrites the reader's buffer when the connection ends. Later fasthttp gives the reader to another connection, whose
// reads would overwrite the buffer too, but wipe does not wait for them.
func (b *baseConn) wipe() { readerBuffers.leave(b) }

// readerBuffers records which connection owns the buffer of each of fasthttp's readers.
var readerBuffers = bufferOwners{owners: make(map[*byte]*baseConn)}

// bufferOwners records which connection last read into each buffer. NoteState may be called for the end of a connection after
// another connection has taken over its reader and buffer.
type bufferOwners struct {
	mu     sync.Mutex
	owners map[*byte]*baseConn // the owners of the buffers, by the address of a buffer's first byte; guarded by mu
}

// take makes the connection the owner of its buffer.
func (o *bufferOwners) take(b *baseConn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.owners[&b.buffer[0]] = b
}

// leave overwrites the connection's buffer, if the connection still owns it.
func (o *bufferOwners) leave(b *baseConn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b.buffer != nil && o.owners[&b.buffer[0]] == b {
		clear(b.buffer)
		delete(o.owners, &b.buffer[0])
	}
}

// InterruptRead makes a read of another goroutine end as if its deadline had passed. The connection can't be read any more.
func InterruptRead(c net.Conn) {
	past := time.Unix(1, 0)
	if wrapped, isOurs := c.(interface{ accepted() net.Conn }); isOurs {
		c = wrapped.accepted() // the wrapper's deadlines belong to the reading goroutine
	}
	_ = c.SetReadDeadline(past) // a closed connection has no reads
}

func (b *baseConn) accepted() net.Conn { return b.raw }

func (b *baseConn) hangUp()         { b.hungUp.Store(true) }
func (b *baseConn) wasHungUp() bool { return b.hungUp.Load() }
func (b *baseConn) hasEnded() bool  { return b.ended.Load() }

func (b *baseConn) markAuthenticated() {
	if b.place != nil {
		b.place.MarkKnown()
	}
}

// MarkAuthenticated records that the caller of this request has a valid credential. When connections are scarce, the server
// first closes connections without a valid credential.
func MarkAuthenticated(ctx *fasthttp.RequestCtx) {
	if c, ok := ctx.Conn().(interface{ markAuthenticated() }); ok {
		c.markAuthenticated()
	}
}

// HangUp closes the connection after this response, even if the caller is still sending.
func HangUp(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	if c, ok := ctx.Conn().(interface{ hangUp() }); ok {
		c.hangUp()
	}
}

// WasHungUp tells whether HangUp was called for this connection.
func WasHungUp(ctx *fasthttp.RequestCtx) bool {
	c, ok := ctx.Conn().(interface{ wasHungUp() bool })
	return ok && c.wasHungUp()
}

// HasEnded tells whether a read has found that the caller closed the connection. fasthttp itself would take such an end for the
// end of a chunked body.
func HasEnded(c net.Conn) bool {
	b, ok := c.(interface{ hasEnded() bool })
	return ok && b.hasEnded()
}

// SilentConnections holds the connections whose callers have not sent anything yet. fasthttp regards them as busy until their
// read timeout, so the server's shutdown would wait for them.
type SilentConnections struct {
	mu     sync.Mutex
	conns  map[*baseConn]struct{} // guarded by mu
	closed bool                   // guarded by mu
}

func (s *SilentConnections) add(b *baseConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = b.raw.Close()
		return
	}
	if s.conns == nil {
		s.conns = make(map[*baseConn]struct{})
	}
	s.conns[b] = struct{}{}
}

// remove removes a connection, and tells whether it was still in the set.
func (s *SilentConnections) remove(b *baseConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, found := s.conns[b]; !found {
		return false
	}
	delete(s.conns, b)
	b.hasSent.Store(true)
	return true
}

// CloseAll closes the connections in the set, and all that are added later.
func (s *SilentConnections) CloseAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for b := range s.conns {
		_ = b.raw.Close()
	}
	clear(s.conns)
}

// discardSize is how many bytes are discarded at a time.
const discardSize = 4 << 10

var discardBuffers = sync.Pool{New: func() any { return new([discardSize]byte) }}

// Discard reads about n bytes and wipes them, because they may contain card numbers. The error is never nil: if n bytes arrived
// before the end, it is io.ErrShortBuffer.
func Discard(from io.Reader, n int) (total int, err error) {
	b := discardBuffers.Get().(*[discardSize]byte)
	defer discardBuffers.Put(b)
	defer clear(b[:])
	for total < n {
		var arrived int
		arrived, err = from.Read(b[:])
		if total += arrived; err != nil {
			return total, err
		}
	}
	return total, io.ErrShortBuffer
}

// IsClosedByPeer tells whether the caller has closed the connection. It notices the end even if data that was sent before the
// end, such as the close_notify of TLS, was not read yet.
func IsClosedByPeer(c net.Conn) (gone bool) {
	switch b := c.(type) {
	case *connection:
		c = b.Conn
	case *secureConnection:
		c = b.Conn
	}
	socket, ok := socketOf(c).(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	err = raw.Control(func(fd uintptr) {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(polled, 0)
		gone = err == nil && n > 0
	})
	return gone || err != nil
}
