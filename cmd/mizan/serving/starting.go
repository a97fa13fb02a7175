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

// Bounds of the HTTP server that handles health checks while the product is being started.
const (
	maxStarting   = 64 // connections; further ones wait in the kernel's queue
	startingBound = 5 * time.Second
	handoverBound = time.Second // how long responses in progress may take when the API takes over
)

// starting is the HTTP server on a listener until the API takes over. It leaves the listener open.
type starting struct {
	net.Listener
	socket      interface{ SetDeadline(time.Time) error } // the socket under the listener
	http        *http.Server
	places      chan struct{}
	stopped     atomic.Bool
	acceptEnded chan struct{} // closed when it no longer accepts connections
	once        sync.Once
}

// answerStarting begins to serve the listener, which accepts from socket.
func answerStarting(listener net.Listener, socket *net.TCPListener, handler http.Handler) *starting {
	s := &starting{
		Listener: listener, socket: socket, places: make(chan struct{}, maxStarting), acceptEnded: make(chan struct{}),
		http: &http.Server{
			Handler: handler, ReadTimeout: startingBound, WriteTimeout: startingBound, MaxHeaderBytes: 8 << 10,
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // unauthenticated callers must not be able to fill the log
		},
	}
	s.http.SetKeepAlivesEnabled(false)
	go func() {
		defer close(s.acceptEnded)
		_ = s.http.Serve(s) // only stop ends it
	}()
	return s
}

// Accept implements net.Listener.
func (s *starting) Accept() (net.Conn, error) {
	s.places <- struct{}{}
	c, err := s.Listener.Accept()
	if err != nil {
		<-s.places
		if s.stopped.Load() {
			return nil, http.ErrServerClosed
		}
		return nil, err
	}
	return &startingConn{Conn: c, places: s.places}, nil
}

// Close implements net.Listener. It leaves the listener open, because the API takes it
// over.
func (s *starting) Close() error { return nil }

// stop ends the server, so that the API can use the listener. It may be called more than once.
func (s *starting) stop() {
	s.once.Do(func() {
		s.stopped.Store(true)
		_ = s.socket.SetDeadline(time.Unix(1, 0)) // ends a pending Accept; fails if the listener is closed, and then no Accept is pending
		ctx, cancel := context.WithTimeout(context.Background(), handoverBound)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close()
		}
		<-s.acceptEnded
		_ = s.socket.SetDeadline(time.Time{})
	})
}

// startingConn frees its slot among maxStarting connections when it is closed.
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

// answerWhileStarting begins to handle health checks.
func (s *server) answerWhileStarting(socket net.Listener) {
	tcp, ok := socket.(*net.TCPListener)
	if !ok {
		return
	}
	s.log.Info("starting", "address", s.address)
	s.starting = answerStarting(s.listener, tcp, api.Starting(s.identityConfig()))
	s.onClose(func() error {
		s.starting.stop()
		return nil
	})
}
