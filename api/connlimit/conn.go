package connlimit

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// What a connection is doing, as far as it matters for closing it.
const (
	working int32 = iota // a request is handled, or none was begun
	reading              // it waits for its caller to send
	gone                 // it was closed to make room
)

// Conn is an admitted connection. It has one reader and one writer at a time, as
// servers do. It is closed by Close, or by the gate while it waits.
type Conn struct {
	net.Conn
	gate    *Gate
	address netip.Addr

	state   atomic.Int32
	writing atomic.Int64 // since when a write is under way, in ns; 0: none is
	since   atomic.Int64 // when it was accepted, or last brought a valid credential, in ns
	known   atomic.Bool  // it has brought one

	at, atFrom int // its places in the lists, guarded by the gate's mu; at is -1 outside
}

// Known says that the request that is handled came with a valid credential.
func (c *Conn) Known() {
	c.known.Store(true)
	c.since.Store(time.Now().UnixNano())
}

// Read implements net.Conn. After the gate has closed the connection nothing is read.
func (c *Conn) Read(p []byte) (int, error) {
	if !c.state.CompareAndSwap(working, reading) {
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(p)
	if !c.state.CompareAndSwap(reading, working) {
		return 0, net.ErrClosed
	}
	return n, err
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	c.writing.Store(time.Now().UnixNano())
	defer c.writing.Store(0)
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	c.gate.mu.Lock()
	c.gate.remove(c)
	c.gate.mu.Unlock()
	if errors.Is(err, net.ErrClosed) && c.state.Load() == gone {
		return nil // it was closed to make room
	}
	return err
}

// CloseWrite shuts down the sending half, where the connection has halves.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SyscallConn implements syscall.Conn.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if socket, ok := c.Conn.(syscall.Conn); ok {
		return socket.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// waits tells whether the connection may be closed to make room for another.
func (c *Conn) waits(now time.Time) bool {
	switch c.state.Load() {
	case reading:
		return true
	case gone:
		return false
	}
	return c.isStalled(now)
}

// isStalled tells whether the caller has not read its answer for a while.
func (c *Conn) isStalled(now time.Time) bool {
	since := c.writing.Load()
	return since != 0 && now.UnixNano()-since > int64(stalled)
}

// claim takes the connection from its reader, before it is closed. Not ok: it does not
// wait any more.
func (c *Conn) claim(now time.Time) bool {
	return c.state.CompareAndSwap(reading, gone) || c.isStalled(now) && c.state.CompareAndSwap(working, gone)
}
