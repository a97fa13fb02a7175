package operators

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// maxAnswer bounds what is read in one exchange, in bytes.
const maxAnswer = 64 << 10

var errLong = errors.New("the answer is longer than its bound")

// timedOut tells whether a deadline has passed.
func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// certificateRejected tells whether a certificate was not accepted.
func certificateRejected(err error) bool {
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	return errors.As(err, &certificate) || errors.As(err, &authority) || errors.As(err, &name)
}

// handshakeFailed tells whether the TLS handshake failed for another reason.
func handshakeFailed(err error) bool {
	var plain tls.RecordHeaderError
	var alert *net.OpError
	return errors.As(err, &plain) || errors.As(err, &alert) && alert.Op == "remote error"
}

// dialOptions says how a connection is opened.
type dialOptions struct {
	bound     time.Duration // for name, TCP and TLS
	until     time.Time     // when the connection ends; zero: when its user closes it
	tlsConfig *tls.Config   // configuration of TLS; nil: no TLS
}

// dial opens a connection; with TLS it returns a *tls.Conn.
func dial(ctx context.Context, address string, o dialOptions) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.bound)
	defer cancel()
	// Go's own resolver: a look-up that is cancelled ends, and holds no thread.
	dialer := net.Dialer{Resolver: &net.Resolver{PreferGo: true}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, errConnect{err}
	}
	if !o.until.IsZero() {
		if conn, err = newBounded(conn, o.until); err != nil {
			return nil, errConnect{err}
		}
	}
	if o.tlsConfig == nil {
		return conn, nil
	}
	encrypted := tls.Client(conn, o.tlsConfig)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // there is nothing to end properly
		return nil, errConnect{err}
	}
	return encrypted, nil
}

// bounded is a connection that ends at a fixed time, whatever deadlines its user sets, and from
// which at most maxAnswer bytes are read.
type bounded struct {
	net.Conn
	until time.Time
	read  io.LimitedReader
}

func newBounded(conn net.Conn, until time.Time) (net.Conn, error) {
	b := &bounded{Conn: conn, until: until, read: io.LimitedReader{R: conn, N: maxAnswer}}
	if err := b.SetDeadline(until); err != nil {
		_ = conn.Close() // it cannot be used
		return nil, err
	}
	return b, nil
}

// Read implements io.Reader.
func (b *bounded) Read(to []byte) (int, error) {
	if b.read.N <= 0 {
		return 0, errLong
	}
	return b.read.Read(to)
}

// SetDeadline implements net.Conn.
func (b *bounded) SetDeadline(t time.Time) error { return b.Conn.SetDeadline(b.earlier(t)) }

// SetReadDeadline implements net.Conn.
func (b *bounded) SetReadDeadline(t time.Time) error { return b.Conn.SetReadDeadline(b.earlier(t)) }

// SetWriteDeadline implements net.Conn.
func (b *bounded) SetWriteDeadline(t time.Time) error { return b.Conn.SetWriteDeadline(b.earlier(t)) }

func (b *bounded) earlier(t time.Time) time.Time {
	if t.IsZero() || t.After(b.until) {
		return b.until
	}
	return t
}
