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

// Interrupted is the Failure of an attempt that Close has interrupted or prevented. It says nothing about the
// receiver.
const Interrupted = "interrupted"

// The other values of Attempt.Failure, in words for people. A further value is "status <number>".
const (
	addressUnusable    = "address not usable"
	addressNotAllowed  = "address not allowed"
	nameNotFound       = "name not found"
	nameNotResolved    = "name could not be looked up"
	connectTimedOut    = "no connection within 5 s"
	attemptTimedOut    = "no answer within 15 s"
	connectionRefused  = "connection refused"
	addressUnreachable = "address not reachable"
	outOfConnections   = "no connections left here"
	notConnected       = "no connection"
	connectionReset    = "connection reset"
	closedUnanswered   = "connection closed without an answer"
	answerCutOff       = "connection closed in the middle of the answer"
	connectionBroken   = "connection broken"
	notHTTP            = "answer is not HTTP"
	headerTooLong      = "answer's header is too long"
	redirect           = "redirect"

	tlsAuthority   = "TLS: certificate of an unknown authority"
	tlsName        = "TLS: certificate of another name"
	tlsExpired     = "TLS: certificate out of its time"
	tlsCertificate = "TLS: certificate not valid"
	tlsNone        = "TLS: not spoken there"
	tlsRefused     = "TLS: refused by the receiver"
	tlsFailed      = "TLS: handshake failed"
)

// remoteErrorOp is the Op of the net.OpError that reports a TLS alert from the receiver.
const remoteErrorOp = "remote error"

var errTooLong = errors.New("the answer is longer than its bound")

// timedOut reports whether the error says that a deadline has passed.
func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// dialFailure returns why there is no TCP connection. If a deadline has passed, it returns ifLate.
func dialFailure(err error, ifLate string) string {
	var dnsError *net.DNSError
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork), errors.Is(err, ssrf.ErrInvalidHostPort):
		return addressNotAllowed
	case timedOut(err):
		return ifLate
	case errors.As(err, &dnsError):
		if dnsError.IsNotFound {
			return nameNotFound
		}
		return nameNotResolved
	case errors.Is(err, syscall.ECONNREFUSED):
		return connectionRefused
	case errors.Is(err, syscall.ECONNRESET):
		return connectionReset
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return addressUnreachable
	case isOutOfResources(err):
		return outOfConnections
	}
	return notConnected
}

// isOutOfResources reports whether a connection failed because this machine has run out of ports, files or memory.
func isOutOfResources(err error) bool {
	for _, resourceError := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, resourceError) {
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
	var opError *net.OpError
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
		return connectionReset
	case errors.As(err, &opError) && opError.Op == remoteErrorOp:
		return tlsRefused
	}
	return tlsFailed
}

// connectionFailure returns why a connection broke. If the receiver has ended the connection, it returns ifEnded.
func connectionFailure(err error, ifEnded string) string {
	var opError *net.OpError
	switch {
	case timedOut(err):
		return attemptTimedOut
	case errors.Is(err, errTooLong):
		return headerTooLong
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return connectionReset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ifEnded
	case errors.As(err, &opError) && opError.Op == remoteErrorOp:
		return tlsRefused // in TLS 1.3 the receiver's alert arrives after the handshake
	}
	return connectionBroken
}
