package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"mizan/internal/assert"
)

// Bounds of a listener.
const (
	handshakeTime = 5 * time.Second
	maxHandshakes = 256 // handshakes that are under way at once
	maxAccepted   = 64  // connections of a protocol that wait for Accept
)

// Identity is what a node needs to prove which node it is, and to check other nodes.
type Identity struct {
	Certificate tls.Certificate // its alternative DNS name is the node's name; it is for servers and for clients
	Authority   *x509.CertPool  // the cluster's own authority

	Hello Hello        // what the node says about itself
	Log   *slog.Logger // gets a line for each node that is refused; nil: none
}

// Link is the node's listener for other nodes. It also connects to them.
type Link struct {
	config    *tls.Config
	hello     Hello
	refusals  Refusals
	listener  net.Listener
	protocols map[string]*Handover
	places    chan struct{} // one for each handshake that is under way
	ended     context.Context
	end       context.CancelFunc
	running   sync.WaitGroup
}

// Listen begins to accept connections at an address, for the given protocols. The caller must accept the connections of each
// protocol.
func Listen(address string, id Identity, protocols ...string) (*Link, error) {
	assert.That(len(protocols) > 0, "a link without protocols")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("peer: %w", err)
	}
	l := &Link{
		config: &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{id.Certificate}, RootCAs: id.Authority,
			ClientCAs: id.Authority, ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: protocols,
		},
		hello: id.Hello, refusals: Refusals{Log: id.Log}, listener: listener, protocols: make(map[string]*Handover), places: make(chan struct{}, maxHandshakes),
	}
	l.ended, l.end = context.WithCancel(context.Background())
	for _, name := range protocols {
		l.protocols[name] = NewHandover(listener.Addr(), maxAccepted)
	}
	l.running.Go(l.accept)
	return l, nil
}

// accept accepts connections until the link is closed.
func (l *Link) accept() {
	for {
		conn, err := l.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // out of file handles, for example
			select {
			case <-l.ended.Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		select {
		case l.places <- struct{}{}:
			l.running.Go(func() {
				defer func() { <-l.places }()
				l.shakeHands(tls.Server(conn, l.config))
			})
		default:
			_ = conn.Close() // invariant 3
		}
	}
}

// shakeHands finds out who has connected, and hands the connection to its protocol.
func (l *Link) shakeHands(conn *tls.Conn) {
	ctx, cancel := context.WithTimeout(l.ended, handshakeTime)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return
	}
	p := l.protocols[conn.ConnectionState().NegotiatedProtocol]
	if p == nil { // the client has named no protocol
		_ = conn.Close()
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	err := l.exchangeHello(ctx, conn, NameOf(conn))
	if !stop() || err != nil {
		_ = conn.Close()
		return
	}
	p.Hand(conn)
}

// Protocol returns the listener of a protocol, which accepts the connections that other nodes have opened for it.
func (l *Link) Protocol(name string) net.Listener {
	p := l.protocols[name]
	assert.That(p != nil, "the link has no protocol %s", name)
	return p
}

// Dial connects to the node with the given name, for a protocol.
func (l *Link) Dial(ctx context.Context, name, address, protocol string) (net.Conn, error) {
	config := l.config.Clone()
	config.ServerName, config.NextProtos = name, []string{protocol}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: handshakeTime}, Config: config}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("peer: connecting to %s at %s: %w", name, address, err)
	}
	if err := l.exchangeHello(ctx, conn, name); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("peer: connecting to %s at %s: %w", name, address, err)
	}
	return conn, nil
}

// Dialer returns a function that connects to nodes for one protocol.
func (l *Link) Dialer(protocol string) func(ctx context.Context, name, address string) (net.Conn, error) {
	return func(ctx context.Context, name, address string) (net.Conn, error) {
		return l.Dial(ctx, name, address, protocol)
	}
}

// NameOf returns the name of the node at the other end of a connection.
func NameOf(conn net.Conn) string {
	c, ok := conn.(*tls.Conn)
	assert.That(ok, "a connection of a link is a TLS connection")
	certificates := c.ConnectionState().PeerCertificates
	if len(certificates) == 0 || len(certificates[0].DNSNames) == 0 {
		return ""
	}
	return certificates[0].DNSNames[0]
}

// Addr returns the address at which the link listens.
func (l *Link) Addr() net.Addr { return l.listener.Addr() }

// Close ends the listener. Connections that were handed over stay open.
func (l *Link) Close() error {
	l.end()
	err := l.listener.Close()
	l.running.Wait()
	for _, p := range l.protocols {
		_ = p.Close()
	}
	if err != nil {
		return fmt.Errorf("peer: %w", err)
	}
	return nil
}
