package serving

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"mizan/api"
)

// Bounds of the server that answers while the product is being started.
const (
	maxStarting   = 64 // connections; further ones wait in the kernel's queue
	startingBound = 5 * time.Second
	handoverBound = time.Second // for answers under way when the product takes over
)

// starting answers on a listener until the product does, and leaves it open.
type starting struct {
	net.Listener
	socket interface{ SetDeadline(time.Time) error } // what the listener accepts from
	http   *http.Server
	places chan struct{}
	over   atomic.Bool
	ended  chan struct{} // closed when nothing is accepted any more
	once   sync.Once
}

// answerStarting begins to answer on the listener that socket is under.
func answerStarting(listener net.Listener, socket *net.TCPListener, handler http.Handler) *starting {
	s := &starting{
		Listener: listener, socket: socket, places: make(chan struct{}, maxStarting), ended: make(chan struct{}),
		http: &http.Server{
			Handler: handler, ReadTimeout: startingBound, WriteTimeout: startingBound, MaxHeaderBytes: 8 << 10,
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // unauthenticated callers must not fill the log
		},
	}
	s.http.SetKeepAlivesEnabled(false)
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(s) // it ends by stop only
	}()
	return s
}

// Accept implements net.Listener.
func (s *starting) Accept() (net.Conn, error) {
	s.places <- struct{}{}
	c, err := s.Listener.Accept()
	if err != nil {
		<-s.places
		if s.over.Load() {
			return nil, http.ErrServerClosed
		}
		return nil, err
	}
	return &startingConn{Conn: c, places: s.places}, nil
}

// Close implements net.Listener: the listener is the product's.
func (s *starting) Close() error { return nil }

// stop ends the answering; the listener accepts for others then. It may be called
// more than once.
func (s *starting) stop() {
	s.once.Do(func() {
		s.over.Store(true)
		_ = s.socket.SetDeadline(time.Unix(1, 0)) // wakes up who accepts; a closed listener has nobody
		ctx, cancel := context.WithTimeout(context.Background(), handoverBound)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close()
		}
		<-s.ended
		_ = s.socket.SetDeadline(time.Time{})
	})
}

// startingConn gives its place back.
type startingConn struct {
	net.Conn
	places chan struct{}
	once   sync.Once
}

// Close implements net.Conn.
func (c *startingConn) Close() error {
	c.once.Do(func() { <-c.places })
	return c.Conn.Close()
}

// answerWhileStarting has the checks answered from now on.
func (s *server) answerWhileStarting(socket net.Listener) {
	tcp, ok := socket.(*net.TCPListener)
	if !ok {
		return
	}
	s.log.Info("starting", "address", s.address)
	s.starting = answerStarting(s.listener, tcp, api.Starting(s.identity()))
	s.onClose(func() error {
		s.starting.stop()
		return nil
	})
}
