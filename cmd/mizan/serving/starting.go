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
	maxStartingConns = 64 // connections; further ones wait in the kernel's queue
	startingTimeout  = 5 * time.Second
	handoverBound    = time.Second // how long responses in progress may take when the API takes over
)

// startingServer is the HTTP server on a listener until the API takes over. It leaves the listener open.
type startingServer struct {
	net.Listener
	socket      interface{ SetDeadline(time.Time) error } // the socket under the listener
	http        *http.Server
	slots       chan struct{}
	isStopped   atomic.Bool
	acceptEnded chan struct{} // closed when the server no longer accepts connections
	stopOnce    sync.Once
}

// newStartingServer begins to serve the listener, whose connections come from socket.
func newStartingServer(listener net.Listener, socket *net.TCPListener, handler http.Handler) *startingServer {
	s := &startingServer{
		Listener: listener, socket: socket, slots: make(chan struct{}, maxStartingConns), acceptEnded: make(chan struct{}),
		http: &http.Server{
			Handler: handler, ReadTimeout: startingTimeout, WriteTimeout: startingTimeout, MaxHeaderBytes: 8 << 10,
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
func (s *startingServer) Accept() (net.Conn, error) {
	s.slots <- struct{}{}
	c, err := s.Listener.Accept()
	if err != nil {
		<-s.slots
		if s.isStopped.Load() {
			return nil, http.ErrServerClosed
		}
		return nil, err
	}
	return &startingConn{Conn: c, slots: s.slots}, nil
}

// Close implements net.Listener. It leaves the listener open, because the API takes it
// over.
func (s *startingServer) Close() error { return nil }

// stop ends the server, so that the API can use the listener. It may be called more than once.
func (s *startingServer) stop() {
	s.stopOnce.Do(func() {
		s.isStopped.Store(true)
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

// startingConn is a connection that frees its slot, one of maxStartingConns, when it is closed.
type startingConn struct {
	net.Conn
	slots     chan struct{}
	closeOnce sync.Once
}

// Close implements net.Conn.
func (c *startingConn) Close() error {
	c.closeOnce.Do(func() { <-c.slots })
	return c.Conn.Close()
}

// answerWhileStarting starts the server that handles health checks until the API takes over.
func (s *server) answerWhileStarting(socket net.Listener) {
	tcp, ok := socket.(*net.TCPListener)
	if !ok {
		return
	}
	s.log.Info("starting", "address", s.address)
	s.startingServer = newStartingServer(s.listener, tcp, api.StartingHandler(s.outsideConfig()))
	s.onClose(func() error {
		s.startingServer.stop()
		return nil
	})
}
