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

// What is still read from a caller that was hung up on.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 16 << 20
)

// Listener gives the server connections that wipe, linger, and can be let go
// before they have asked for anything.
type Listener struct {
	net.Listener
	Silent *Silent
}

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	line := &line{under: c, silent: l.Silent}
	l.Silent.add(line)
	line.limited, _ = socketOf(c).(*connlimit.Conn)
	if secure, ok := c.(*wiping.Conn); ok {
		return &secureConnection{Conn: secure, line: line}, nil
	}
	return &connection{Conn: c, line: line}, nil
}

// socketOf is the connection that TLS runs on, or the connection itself.
func socketOf(c net.Conn) net.Conn {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		return secure.NetConn()
	}
	return c
}

// NoteState is told by the transport how connections stand.
func NoteState(c net.Conn, state fasthttp.ConnState) {
	if over, ours := c.(interface{ wipe() }); ours && state == fasthttp.StateClosed {
		over.wipe()
	}
}

// connection is a line in the clear.
type connection struct {
	net.Conn
	*line
}

// wipe is called when the transport is done with the connection.
func (c *connection) wipe() { c.line.wipe() }

// Read implements net.Conn.
func (c *connection) Read(p []byte) (int, error) { return c.line.read(p) }

// Close implements net.Conn.
func (c *connection) Close() error { return c.line.close() }

// secureConnection is a line with the methods by which the server knows TLS.
type secureConnection struct {
	*wiping.Conn
	*line
}

// Read implements net.Conn.
func (c *secureConnection) Read(p []byte) (int, error) { return c.line.read(p) }

// Close implements net.Conn.
func (c *secureConnection) Close() error { return c.line.close() }

// wipe is called when the transport is done with the connection.
func (c *secureConnection) wipe() {
	c.line.wipe()
	c.Conn.Wipe()
}

// line is what both kinds of connections do.
type line struct {
	under   net.Conn
	silent  *Silent
	limited *connlimit.Conn // nil where nobody bounds connections
	spoke   atomic.Bool     // the caller has sent something
	ended   atomic.Bool     // the caller sends nothing more
	linger  atomic.Bool
	buffer  []byte // of the transport's reader; nil before the first read
}

// read overwrites what the reader's buffer kept of the last request before it
// is filled again: the reader asks only for the part that it is done with.
func (l *line) read(p []byte) (int, error) {
	if l.buffer == nil {
		l.buffer = p[:cap(p)] // a reader that is empty asks for all of its buffer
		readerBuffers.take(l)
	}
	if l.reuses(p) {
		clear(p)
	}
	n, err := l.under.Read(p)
	switch {
	case err == io.EOF && n > 0:
		err = nil // TLS says so with the last bytes; the next read says it again
	case err == io.EOF:
		l.ended.Store(true)
	}
	if n > 0 && !l.spoke.Load() && !l.silent.remove(l) {
		return 0, net.ErrClosed // let go at this moment: nothing of it may begin
	}
	return n, err
}

// reuses tells whether p is the end of the reader's buffer. What is read of a large body
// goes past it to a buffer that holds nothing yet.
func (l *line) reuses(p []byte) bool {
	return len(p) > 0 && &p[:cap(p)][cap(p)-1] == &l.buffer[len(l.buffer)-1]
}

// close ends the connection. Closing one that has unread bytes resets it, and a
// caller that is still sending would never see why it was refused: so where the
// server hung up, what it sends is read for a while first.
func (l *line) close() error {
	l.silent.remove(l)
	if l.linger.Load() { // set by a handler: the transport is done with the request, and closes the connection for it
		l.wipe()
		half, ok := l.under.(interface{ CloseWrite() error })
		if ok && half.CloseWrite() == nil && l.under.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = Discard(l.under, lingerBytes)
		}
	}
	return l.under.Close()
}

// wipe overwrites what the reader's buffer holds when the connection is over. The
// transport keeps readers for other connections, which overwrite it too, but only once
// they come.
func (l *line) wipe() { readerBuffers.leave(l) }

// readerBuffers knows whose the buffers of the transport's readers are.
var readerBuffers = ownership{of: make(map[*byte]*line)}

// ownership says which connection a buffer was read into last. A connection learns that
// it is over when another may have its reader already.
type ownership struct {
	mu sync.Mutex
	of map[*byte]*line // by the buffer's first byte; guarded by mu
}

// take makes the line's buffer its own.
func (o *ownership) take(l *line) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of[&l.buffer[0]] = l
}

// leave overwrites the line's buffer, if it is still its own.
func (o *ownership) leave(l *line) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l.buffer != nil && o.of[&l.buffer[0]] == l {
		clear(l.buffer)
		delete(o.of, &l.buffer[0])
	}
}

func (l *line) hangUp()       { l.linger.Store(true) }
func (l *line) lingers() bool { return l.linger.Load() }
func (l *line) over() bool    { return l.ended.Load() }

func (l *line) known() {
	if l.limited != nil {
		l.limited.Known()
	}
}

// known says that the caller of this request has shown a valid credential: where
// connections are short, those of others go first.
func MarkKnown(ctx *fasthttp.RequestCtx) {
	if c, ok := ctx.Conn().(interface{ known() }); ok {
		c.known()
	}
}

// HangUp ends the connection after this answer although the caller may still be
// sending.
func HangUp(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	if c, ok := ctx.Conn().(interface{ hangUp() }); ok {
		c.hangUp()
	}
}

// Lingers tells whether hangUp was called.
func Lingers(ctx *fasthttp.RequestCtx) bool {
	c, ok := ctx.Conn().(interface{ lingers() bool })
	return ok && c.lingers()
}

// BrokenOff tells whether the connection ended while a request was being read: the
// transport takes that for the end of a body in chunks.
func BrokenOff(c net.Conn) bool {
	l, ok := c.(interface{ over() bool })
	return ok && l.over()
}

// Silent are the connections that have not sent anything yet. The transport
// takes them for busy until their read time-out, so a stop would wait for them.
type Silent struct {
	mu    sync.Mutex
	lines map[*line]struct{} // guarded by mu
	gone  bool               // guarded by mu
}

func (s *Silent) add(l *line) {
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
func (s *Silent) remove(l *line) bool {
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
func (s *Silent) CloseAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
	for l := range s.lines {
		_ = l.under.Close()
	}
	clear(s.lines)
}

// scrap is how many bytes are discarded at once.
const scrap = 4 << 10

var scraps = sync.Pool{New: func() any { return new([scrap]byte) }}

// Discard reads up to n bytes, or a few more, and keeps nothing of them: there may be
// cards in them. The error is never nil.
func Discard(from io.Reader, n int) (read int, err error) {
	b := scraps.Get().(*[scrap]byte)
	defer scraps.Put(b)
	defer clear(b[:])
	for read < n {
		var some int
		some, err = from.Read(b[:])
		if read += some; err != nil {
			return read, err
		}
	}
	return read, io.ErrShortBuffer
}

// HungUp tells whether the other end has closed the connection, also behind data
// that is not read yet (the farewell of TLS).
func HungUp(c net.Conn) (gone bool) {
	switch line := c.(type) {
	case *connection:
		c = line.Conn
	case *secureConnection:
		c = line.Conn
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
