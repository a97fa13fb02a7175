package connlimit

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

// The states of a connection. The gate may close only a connection that is reading, or whose caller leaves a response unread.
const (
	working int32 = iota // a request is being handled, or none has begun
	reading              // the connection waits for data from its caller
	evicted              // the gate has closed the connection to make room for another
)

// Conn is a connection that the gate has admitted. Like all connections of a server, it has at most one reader and one writer
// at a time. While it waits for its caller, the gate may close it.
type Conn struct {
	net.Conn
	gate    *Gate
	address netip.Addr
	source  netip.Prefix // the network whose connections are counted together

	state         atomic.Int32
	writing       atomic.Int64 // start of the current write, in ns; 0 if there is none
	since         atomic.Int64 // when the connection was accepted, or when its last request with a valid credential arrived, in ns
	hasCredential atomic.Bool  // a request on the connection has had a valid credential

	openIndex, sourceIndex int // positions in the gate's lists, guarded by the gate's mu; openIndex is -1 if the connection is in no list
}

// MarkKnown records that the current request has a valid credential. When the gate needs room, it first closes connections that
// never had a valid credential.
func (c *Conn) MarkKnown() {
	c.hasCredential.Store(true)
	c.since.Store(time.Now().UnixNano())
}

// Read implements net.Conn. After the gate has closed the connection, Read returns net.ErrClosed.
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
	if errors.Is(err, net.ErrClosed) && c.state.Load() == evicted {
		return nil // the gate has already closed the connection
	}
	return err
}

// CloseWrite shuts down the sending half of the connection, if the connection supports this.
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

// isEvictable tells whether the connection may be closed to make room for another.
func (c *Conn) isEvictable(now time.Time) bool {
	switch c.state.Load() {
	case reading:
		return true
	case evicted:
		return false
	}
	return c.isStalled(now)
}

// isStalled tells whether the caller has not read its response for a while.
func (c *Conn) isStalled(now time.Time) bool {
	since := c.writing.Load()
	return since != 0 && now.UnixNano()-since > int64(stalled)
}

// markEvicted marks the connection as evicted before the gate closes it, so that the goroutine that reads from it gets
// net.ErrClosed. If the connection no longer waits for its caller, markEvicted returns false.
func (c *Conn) markEvicted(now time.Time) bool {
	return c.state.CompareAndSwap(reading, evicted) || c.isStalled(now) && c.state.CompareAndSwap(working, evicted)
}
