package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"code.dny.dev/ssrf"
)

// Interrupted is the Failure of an attempt that Close has ended, or has prevented. It says nothing
// about the receiver.
const Interrupted = "interrupted"

// The other values of Failure, for people, beside "status <number>".
const (
	unusable     = "address not usable"
	notAllowed   = "address not allowed"
	notFound     = "name not found"
	notResolved  = "name could not be looked up"
	noConnection = "no connection within 5 s"
	noAnswer     = "no answer within 15 s"
	refused      = "connection refused"
	unreachable  = "address not reachable"
	exhausted    = "no connections left here"
	notConnected = "no connection"
	reset        = "connection reset"
	unanswered   = "connection closed without an answer"
	cutOff       = "connection closed in the middle of the answer"
	broken       = "connection broken"
	notHTTP      = "answer is not HTTP"
	headerLong   = "answer's header is too long"
	redirect     = "redirect"

	tlsAuthority   = "TLS: certificate of an unknown authority"
	tlsName        = "TLS: certificate of another name"
	tlsExpired     = "TLS: certificate out of its time"
	tlsCertificate = "TLS: certificate not valid"
	tlsNone        = "TLS: not spoken there"
	tlsRefused     = "TLS: refused by the receiver"
	tlsFailed      = "TLS: handshake failed"
)

// remoteError is the Op of a net.OpError for an alert that the receiver sent over TLS.
const remoteError = "remote error"

var errLong = errors.New("the answer is longer than its bound")

// timedOut tells whether a deadline has passed.
func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// dialFailure returns why there is no TCP connection. If a deadline has passed, it returns ifLate.
func dialFailure(err error, ifLate string) string {
	var resolving *net.DNSError
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork), errors.Is(err, ssrf.ErrInvalidHostPort):
		return notAllowed
	case timedOut(err):
		return ifLate
	case errors.As(err, &resolving):
		if resolving.IsNotFound {
			return notFound
		}
		return notResolved
	case errors.Is(err, syscall.ECONNREFUSED):
		return refused
	case errors.Is(err, syscall.ECONNRESET):
		return reset
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return unreachable
	case scarce(err):
		return exhausted
	}
	return notConnected
}

// scarce tells whether the connection failed because this machine has run out of something.
func scarce(err error) bool {
	for _, lacking := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, lacking) {
			return true
		}
	}
	return false
}

// handshakeFailure returns why the TLS handshake failed. If a deadline has passed, it returns ifLate.
func handshakeFailure(err error, ifLate string) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var certificate *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	var remote *net.OpError
	switch {
	case timedOut(err):
		return ifLate
	case errors.As(err, &authority):
		return tlsAuthority
	case errors.As(err, &name):
		return tlsName
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return tlsExpired
	case errors.As(err, &certificate):
		return tlsCertificate
	case errors.As(err, &notTLS):
		return tlsNone
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return reset
	case errors.As(err, &remote) && remote.Op == remoteError:
		return tlsRefused
	}
	return tlsFailed
}

// connectionFailure returns why a connection broke. If the receiver has ended the connection, it returns ifEnded.
func connectionFailure(err error, ifEnded string) string {
	var remote *net.OpError
	switch {
	case timedOut(err):
		return noAnswer
	case errors.Is(err, errLong):
		return headerLong
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return reset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ifEnded
	case errors.As(err, &remote) && remote.Op == remoteError:
		return tlsRefused // in TLS 1.3 this alert arrives after the handshake
	}
	return broken
}
