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
	MaxConns     int          // open connections, and so deliveries in progress; 0: DefaultMaxConns
}

// bounds are durations in real time. Only tests change them.
type bounds struct {
	connect time.Duration // name, TCP and TLS
	answer  time.Duration // a whole attempt, until the response's header has arrived
	body    time.Duration // a response's body, after which the connection is closed
	idle    time.Duration // how long a connection may be idle
	maxAge  time.Duration // how long a connection may be used
}

var standard = bounds{connect: 5 * time.Second, answer: 15 * time.Second, body: time.Second, idle: 30 * time.Second, maxAge: 5 * time.Minute}

// Sender sends deliveries. It is safe for concurrent use.
type Sender struct {
	clock  clock.Clock
	log    *slog.Logger
	bounds bounds
	dialer *net.Dialer
	roots  *x509.CertPool // trusted certificate authorities; nil: the system's

	connections *connections
	places      chan struct{} // one element per delivery in progress
	lackLog     rate.Sometimes

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	close  sync.Once
}

// New makes a Sender. The caller must close it.
func New(o Options) *Sender { return newSender(o, standard) }

func newSender(o Options, b bounds) *Sender {
	if o.MaxConns <= 0 {
		o.MaxConns = DefaultMaxConns
	}
	c := &Sender{
		clock: o.Clock, log: o.Log, bounds: b,
		// Go's own resolver: a look-up that is cancelled ends, and holds no thread.
		dialer:      &net.Dialer{Resolver: &net.Resolver{PreferGo: true}, KeepAlive: -1},
		connections: newConnections(o.MaxConns, b.idle, b.maxAge), places: make(chan struct{}, o.MaxConns),
		lackLog: rate.Sometimes{Interval: time.Minute},
	}
	if !o.AllowPrivate {
		c.dialer.Control = guard()
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Close ends all connections. Deliveries in progress, and later ones, are Interrupted. Close
// returns when no delivery is in progress any more.
func (c *Sender) Close() {
	c.close.Do(func() {
		c.cancel()
		c.connections.closeAll()
		for range cap(c.places) {
			c.places <- struct{}{}
		}
	})
}

// Deliver makes one attempt. It first waits until fewer than MaxConns
// deliveries are in progress; from then on it returns within 15 s, plus the second that a response's
// body may take.
func (c *Sender) Deliver(p *Delivery) Attempt {
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	case <-c.ctx.Done():
		return Attempt{At: c.clock.Now(), Failure: Interrupted}
	}
	at, startTime := c.clock.Now(), time.Now()
	to, ok := parse(p.URL)
	if !ok {
		return Attempt{At: at, Failure: unusable, Took: time.Since(startTime)}
	}
	s := buffersPool.Get().(*requestBuffers)
	defer s.release()
	s.write(p, to, at)
	v := c.send(to.destination, s.request, startTime.Add(c.bounds.answer))
	if v.status == 0 && c.ctx.Err() != nil {
		v.failure = Interrupted
	}
	return Attempt{At: at, Status: v.status, Failure: v.failure, Took: v.at.Sub(startTime)}
}

// send makes the exchange over an idle connection or over a new one. Invariant 6 of the package
// says when it is made a second time.
func (c *Sender) send(to destination, request []byte, until time.Time) verdict {
	if l := c.connections.take(to); l != nil {
		if v := c.exchangeOver(l, request, until); !v.silent {
			return v
		}
	}
	l, failure := c.open(to, until)
	if l == nil {
		return verdict{failure: failure, at: time.Now()}
	}
	return c.exchangeOver(l, request, until)
}

// exchangeOver makes the exchange over a connection, which it then keeps for reuse or closes.
func (c *Sender) exchangeOver(l *connection, request []byte, until time.Time) verdict {
	v := l.exchange(request, until, c.bounds.body)
	if v.reusable {
		c.connections.addIdle(l)
	} else {
		c.connections.closeUsed(l)
	}
	return v
}

// open opens a connection, or returns why it could not.
func (c *Sender) open(to destination, until time.Time) (*connection, string) {
	c.connections.reserve()
	l, failure := c.connect(to, until)
	if l == nil {
		c.connections.cancel()
		return nil, failure
	}
	c.connections.add(l)
	return l, ""
}

func (c *Sender) connect(to destination, until time.Time) (*connection, string) {
	connectBy, ifLate := time.Now().Add(c.bounds.connect), noConnection
	if until.Before(connectBy) {
		connectBy, ifLate = until, noAnswer
	}
	ctx, cancel := context.WithDeadline(c.ctx, connectBy)
	defer cancel()
	tcp, err := c.dialer.DialContext(ctx, "tcp", net.JoinHostPort(to.host, to.port))
	if err != nil {
		if scarce(err) {
			c.lackLog.Do(func() { c.log.Error("notifications find no connections left on this machine") })
		}
		return nil, dialFailure(err, ifLate)
	}
	conn := tcp
	if to.secure {
		secured := tls.Client(belowTLS{tcp}, &tls.Config{ServerName: to.host, RootCAs: c.roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = tcp.Close() // there is nothing to end properly
			return nil, handshakeFailure(err, ifLate)
		}
		conn = secured
	}
	l, err := newConnection(to, conn, tcp)
	if err != nil {
		_ = tcp.Close()
		return nil, notConnected
	}
	return l, ""
}

// statusFailure returns why a status does not acknowledge the delivery; empty if it does.
func statusFailure(status int) string {
	switch {
	case 200 <= status && status < 300:
		return ""
	case 300 <= status && status < 400:
		return redirect
	}
	return "status " + strconv.Itoa(status)
}
