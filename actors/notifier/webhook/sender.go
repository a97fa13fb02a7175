package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"mizan/internal/clock"
)

// DefaultMaxConns is the default of Options.MaxConns.
const DefaultMaxConns = 1024

// Options configure a Sender.
type Options struct {
	// AllowPrivate lets deliveries go to any address, including this machine and its local network.
	AllowPrivate bool
	Clock        clock.Clock
	Log          *slog.Logger // logs only that this machine has run out of something, such as ports or files
	Dial         Dial         // opens connections; nil for this machine's network
	MaxConns     int          // maximum number of open connections and of deliveries in progress; 0 means DefaultMaxConns
}

// Dial opens a connection, like net.Dialer.DialContext. A connection that is not a socket of this machine is used for only one
// delivery.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// bounds are durations in real time. Only tests change them.
type bounds struct {
	connect time.Duration // name look-up, TCP and TLS together
	answer  time.Duration // a whole attempt, until the response's header has arrived
	body    time.Duration // reading a response's body; after this time the connection is closed
	idle    time.Duration // how long a connection may be idle
	maxAge  time.Duration // how long a connection may be used
}

var standardBounds = bounds{connect: 5 * time.Second, answer: 15 * time.Second, body: time.Second, idle: 30 * time.Second, maxAge: 5 * time.Minute}

// Sender sends deliveries. It is safe for concurrent use.
type Sender struct {
	clock  clock.Clock
	log    *slog.Logger
	bounds bounds
	dialer *net.Dialer
	dial   Dial           // opens connections in place of dialer; nil: dialer opens them
	roots  *x509.CertPool // trusted certificate authorities; nil: the system's

	connections      *connections
	slots            chan struct{}  // one element per delivery in progress
	resourceLogLimit rate.Sometimes // how often a lack of resources is logged

	ctx       context.Context // ends with Close
	cancel    context.CancelFunc
	closeOnce sync.Once
}

// New makes a Sender. The caller must close it.
func New(o Options) *Sender { return newSender(o, standardBounds) }

func newSender(o Options, b bounds) *Sender {
	if o.MaxConns <= 0 {
		o.MaxConns = DefaultMaxConns
	}
	c := &Sender{
		clock: o.Clock, log: o.Log, bounds: b,
		// With Go's own resolver a cancelled look-up ends at once and holds no thread.
		dialer: &net.Dialer{Resolver: &net.Resolver{PreferGo: true}, KeepAlive: -1}, dial: o.Dial,
		connections: newConnections(o.MaxConns, b.idle, b.maxAge), slots: make(chan struct{}, o.MaxConns),
		resourceLogLimit: rate.Sometimes{Interval: time.Minute},
	}
	if !o.AllowPrivate {
		c.dialer.Control = newDialGuard()
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Close ends all connections. Deliveries in progress and later deliveries end with the failure Interrupted.
// Close returns when no delivery is in progress any more.
func (s *Sender) Close() {
	s.closeOnce.Do(func() {
		s.cancel()
		s.connections.closeAll()
		for range cap(s.slots) {
			s.slots <- struct{}{}
		}
	})
}

// Deliver makes one attempt. It first waits until fewer than MaxConns deliveries are in progress; from then
// on it returns within 16 s: 15 s for the attempt, and 1 s for reading the response's body.
func (s *Sender) Deliver(d *Delivery) Attempt {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-s.ctx.Done():
		return Attempt{At: s.clock.Now(), Failure: Interrupted}
	}
	at, startTime := s.clock.Now(), time.Now()
	to, ok := parseURL(d.URL)
	if !ok {
		return Attempt{At: at, Failure: addressUnusable, Duration: time.Since(startTime)}
	}
	buffers := buffersPool.Get().(*requestBuffers)
	defer buffers.release()
	buffers.writeRequest(d, to, at)
	v := s.send(to.destination, buffers.request, startTime.Add(s.bounds.answer))
	if v.status == 0 && s.ctx.Err() != nil {
		v.failure = Interrupted
	}
	return Attempt{At: at, Status: v.status, Failure: v.failure, Duration: v.at.Sub(startTime)}
}

// send makes the exchange (request and response) over an idle connection or over a new one. If an idle
// connection ends before the first byte of a response, send makes the exchange again over a new one.
func (s *Sender) send(to destination, request []byte, deadline time.Time) exchangeResult {
	if conn := s.connections.take(to); conn != nil {
		if v := s.exchangeOver(conn, request, deadline); !v.endedSilently {
			return v
		}
	}
	conn, failure := s.open(to, deadline)
	if conn == nil {
		return exchangeResult{failure: failure, at: time.Now()}
	}
	return s.exchangeOver(conn, request, deadline)
}

// exchangeOver makes the exchange over a connection, and then keeps the connection for reuse or closes it.
func (s *Sender) exchangeOver(conn *connection, request []byte, deadline time.Time) exchangeResult {
	v := conn.exchange(request, deadline, s.bounds.body)
	if v.isReusable {
		s.connections.addIdle(conn)
	} else {
		s.connections.closeUsed(conn)
	}
	return v
}

// open opens a connection. If that fails, it returns the reason.
func (s *Sender) open(to destination, deadline time.Time) (*connection, string) {
	s.connections.reserve()
	conn, failure := s.connect(to, deadline)
	if conn == nil {
		s.connections.cancelReservation()
		return nil, failure
	}
	s.connections.add(conn)
	return conn, ""
}

// connect makes a TCP connection and, if the destination needs it, a TLS connection over it. If that fails, connect
// returns the reason.
func (s *Sender) connect(to destination, deadline time.Time) (*connection, string) {
	connectBy, ifLate := time.Now().Add(s.bounds.connect), connectTimedOut
	if deadline.Before(connectBy) {
		connectBy, ifLate = deadline, attemptTimedOut
	}
	ctx, cancel := context.WithDeadline(s.ctx, connectBy)
	defer cancel()
	dial := s.dialer.DialContext
	if s.dial != nil {
		dial = s.dial
	}
	tcp, err := dial(ctx, "tcp", net.JoinHostPort(to.host, to.port))
	if err != nil {
		if isOutOfResources(err) {
			s.resourceLogLimit.Do(func() {
				s.log.Error("notifications cannot be sent: this machine has no free ports, files or memory for connections")
			})
		}
		return nil, dialFailure(err, ifLate)
	}
	stream := tcp
	if to.usesTLS {
		secured := tls.Client(belowTLS{tcp}, &tls.Config{ServerName: to.host, RootCAs: s.roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = tcp.Close() // the handshake failed: there is no TLS session to end
			return nil, handshakeFailure(err, ifLate)
		}
		stream = secured
	}
	conn, err := newConnection(to, stream, tcp)
	if err != nil {
		_ = tcp.Close()
		return nil, notConnected
	}
	return conn, ""
}

// statusFailure returns the reason why a status does not acknowledge the delivery, or an empty text if it does.
func statusFailure(status int) string {
	switch {
	case 200 <= status && status < 300:
		return ""
	case 300 <= status && status < 400:
		return redirect
	}
	return "status " + strconv.Itoa(status)
}
