package connlimit

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// The first and the longest wait after a failed accept(2). If it fails again, the next wait is twice as long.
const (
	firstWait = 5 * time.Millisecond
	lastWait  = time.Second
)

// Listener wraps a listener, so that Accept returns only connections that the gate admits. All listeners of a gate share its
// bounds.
func (g *Gate) Listener(l net.Listener) net.Listener {
	return &listener{Listener: l, gate: g, closed: make(chan struct{})}
}

type listener struct {
	net.Listener
	gate   *Gate
	once   sync.Once
	closed chan struct{}
}

// Accept implements net.Listener. The connection is a *Conn.
func (l *listener) Accept() (net.Conn, error) {
	wait := firstWait
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			if isPermanent(err) {
				return nil, err
			}
			if !l.pause(wait, err) {
				return nil, net.ErrClosed
			}
			wait = min(2*wait, lastWait)
			continue
		}
		wait = firstWait
		if c := l.gate.admit(raw); c != nil {
			return c, nil
		}
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// pause waits after an error of accept(2). If the listener is closed during the wait, pause returns false.
func (l *listener) pause(wait time.Duration, err error) bool {
	l.gate.failureLog.Do(func() {
		l.gate.log.Warn("no connection could be accepted; it is tried again", "error", err, "open", l.gate.Open())
	})
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		l.gate.evictForHandles()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.closed:
		return false
	}
}

// isPermanent tells whether an error is permanent, so that the next Accept would fail with the same error. Such errors mean
// that the handle is no longer a listening socket, or that a past deadline was set to wake the goroutine that waits in
// Accept. All other errors of accept(2) are temporary, or concern only the connection that was about to be accepted.
func isPermanent(err error) bool {
	for _, e := range []error{net.ErrClosed, os.ErrDeadlineExceeded, syscall.EBADF, syscall.EINVAL, syscall.ENOTSOCK, syscall.EFAULT} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
