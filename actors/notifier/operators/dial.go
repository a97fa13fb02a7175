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

// maxAnswer is the maximum number of bytes that are read of one Bot API response or over one SMTP connection.
const maxAnswer = 64 << 10

var errTooLong = errors.New("the answer is longer than its bound")

// timedOut reports whether the error says that a deadline has passed.
func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// certificateRejected reports whether the error says that a certificate was not accepted.
func certificateRejected(err error) bool {
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	return errors.As(err, &certificate) || errors.As(err, &authority) || errors.As(err, &name)
}

// handshakeFailed reports whether the TLS handshake failed for a reason other than the certificate.
func handshakeFailed(err error) bool {
	var plain tls.RecordHeaderError
	var alert *net.OpError
	return errors.As(err, &plain) || errors.As(err, &alert) && alert.Op == "remote error"
}

// dialOptions says how a connection is opened.
type dialOptions struct {
	timeout   time.Duration // for name look-up, TCP and TLS together
	deadline  time.Time     // time at which the connection is ended; zero: it ends when its user closes it
	tlsConfig *tls.Config   // nil: no TLS
}

// dial opens a connection. If TLS is used, the connection is a *tls.Conn.
func dial(ctx context.Context, address string, o dialOptions) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	// With Go's own resolver a cancelled look-up ends at once and holds no thread.
	dialer := net.Dialer{Resolver: &net.Resolver{PreferGo: true}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, connectError{err}
	}
	if !o.deadline.IsZero() {
		if conn, err = newBoundedConn(conn, o.deadline); err != nil {
			return nil, connectError{err}
		}
	}
	if o.tlsConfig == nil {
		return conn, nil
	}
	encrypted := tls.Client(conn, o.tlsConfig)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the handshake failed: there is no TLS session to end
		return nil, connectError{err}
	}
	return encrypted, nil
}

// boundedConn is a connection with two bounds. It ends at a fixed time, even if its user sets a later
// deadline, and at most maxAnswer bytes are read from it.
type boundedConn struct {
	net.Conn
	deadline time.Time
	reader   io.LimitedReader
}

func newBoundedConn(conn net.Conn, deadline time.Time) (net.Conn, error) {
	b := &boundedConn{Conn: conn, deadline: deadline, reader: io.LimitedReader{R: conn, N: maxAnswer}}
	if err := b.SetDeadline(deadline); err != nil {
		_ = conn.Close() // a connection without the deadline must not be used
		return nil, err
	}
	return b, nil
}

// Read implements io.Reader.
func (b *boundedConn) Read(dst []byte) (int, error) {
	if b.reader.N <= 0 {
		return 0, errTooLong
	}
	return b.reader.Read(dst)
}

// SetDeadline implements net.Conn.
func (b *boundedConn) SetDeadline(t time.Time) error { return b.Conn.SetDeadline(b.capDeadline(t)) }

// SetReadDeadline implements net.Conn.
func (b *boundedConn) SetReadDeadline(t time.Time) error {
	return b.Conn.SetReadDeadline(b.capDeadline(t))
}

// SetWriteDeadline implements net.Conn.
func (b *boundedConn) SetWriteDeadline(t time.Time) error {
	return b.Conn.SetWriteDeadline(b.capDeadline(t))
}

// capDeadline returns t, or the connection's own deadline if t is later or zero.
func (b *boundedConn) capDeadline(t time.Time) time.Time {
	if t.IsZero() || t.After(b.deadline) {
		return b.deadline
	}
	return t
}
