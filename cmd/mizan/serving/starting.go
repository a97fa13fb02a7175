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

// Bounds of the HTTP server that handles health checks while the service starts.
const (
	maxStartingConns = 64 // maximum number of connections; further connections wait in the kernel's queue
	startingTimeout  = 5 * time.Second
	handoverBound    = time.Second // how long responses in progress may still take when the API takes over
)

// startingServer is the HTTP server that serves a listener until the API takes over. It never closes the listener.
type startingServer struct {
	net.Listener
	socket      interface{ SetDeadline(time.Time) error } // the listener's socket
	http        *http.Server
	slots       chan struct{}
	isStopped   atomic.Bool
	acceptEnded chan struct{} // closed when the server no longer accepts connections
	stopOnce    sync.Once
}

// newStartingServer starts a server for the listener. The listener's connections come from socket.
func newStartingServer(listener net.Listener, socket *net.TCPListener, handler http.Handler) *startingServer {
	s := &startingServer{
		Listener: listener, socket: socket, slots: make(chan struct{}, maxStartingConns), acceptEnded: make(chan struct{}),
		http: &http.Server{
			Handler: handler, ReadTimeout: startingTimeout, WriteTimeout: startingTimeout, MaxHeaderBytes: 8 << 10,
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // no log, because unauthenticated clients could fill it
		},
	}
	s.http.SetKeepAlivesEnabled(false)
	go func() {
		defer close(s.acceptEnded)
		_ = s.http.Serve(s) // an error needs no handling, because only stop ends Serve
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

// Close implements net.Listener. It does not close the inner listener, because the API will use it.
func (s *startingServer) Close() error { return nil }

// stop ends the server, so that the API can use the listener. Further calls of stop do nothing.
func (s *startingServer) stop() {
	s.stopOnce.Do(func() {
		s.isStopped.Store(true)
		_ = s.socket.SetDeadline(time.Unix(1, 0)) // ends a pending Accept; an error means that the listener is closed, and then no Accept is pending
		ctx, cancel := context.WithTimeout(context.Background(), handoverBound)
		defer cancel()
		if s.http.Shutdown(ctx) != nil {
			_ = s.http.Close()
		}
		<-s.acceptEnded
		_ = s.socket.SetDeadline(time.Time{})
	})
}

// startingConn is a connection to a startingServer. Close frees one of the maxStartingConns slots.
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
func (p *process) answerWhileStarting(socket net.Listener) {
	tcp, ok := socket.(*net.TCPListener)
	if !ok {
		return
	}
	p.log.Info("starting", "address", p.address)
	p.startingServer = newStartingServer(p.listener, tcp, api.StartingHandler(p.baseAPIConfig()))
	p.onClose(func() error {
		p.startingServer.stop()
		return nil
	})
}
