package peer

import (
	"net"
	"sync"
)

// Handover is a listener whose connections another goroutine of the process has accepted: Hand gives a connection to whoever calls
// Accept.
type Handover struct {
	addr     net.Addr
	accepted chan net.Conn
	closed   chan struct{}

	mu       sync.Mutex
	isClosed bool // guarded by mu; held while a connection is handed over, so that none is left after Close
}

// NewHandover returns a listener at which at most so many connections wait. addr is what Addr returns.
func NewHandover(addr net.Addr, maxWaiting int) *Handover {
	return &Handover{addr: addr, accepted: make(chan net.Conn, maxWaiting), closed: make(chan struct{})}
}

// Hand gives a connection to whoever calls Accept. If too many connections wait, or if the listener is closed, Hand closes the
// connection.
func (h *Handover) Hand(conn net.Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isClosed {
		select {
		case h.accepted <- conn:
			return
		default:
		}
	}
	_ = conn.Close()
}

// Accept waits for the next connection.
func (h *Handover) Accept() (net.Conn, error) {
	select {
	case <-h.closed:
		return nil, net.ErrClosed
	case conn := <-h.accepted:
		return conn, nil
	}
}

// Close ends the listener, and closes the connections that wait.
func (h *Handover) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isClosed {
		return nil
	}
	h.isClosed = true
	close(h.closed)
	for {
		select {
		case conn := <-h.accepted:
			_ = conn.Close()
		default:
			return nil
		}
	}
}

// Addr returns the address that was passed to NewHandover.
func (h *Handover) Addr() net.Addr { return h.addr }
