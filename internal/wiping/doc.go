// Package wiping makes connections that keep no request or response in memory: a TLS connection
// that overwrites what it has read, and requests whose bodies are in no buffer.
//
// crypto/tls decrypts a record in the buffer in which it was received. The plaintext, which may
// contain a card's number and CVV, stays there until a record at least as long overwrites it, even
// while the connection waits or after it was closed.
//
// Invariants:
//  1. When a connection asks for its next record, the previous one in its buffer is overwritten
//     first: no connection waits with plaintext in its buffer.
//  2. After Wipe nothing is left of what was read, whether or not the caller has taken it.
//  3. Only memory that crypto/tls lends for a read is written, and only during the read.
//  4. A Body is written to its connection from its own memory. The memory is overwritten when
//     all of it was written or its request has ended. http.Transport never sees a byte of it, and crypto/tls
//     never more than three bytes at a time.
//  5. Of a client that sends an HTTP request without TLS nothing is left either: it may have meant to send a card.
//
// Reading is controlled below crypto/tls, at the socket. The reader returns one record at a
// time, its header separately: crypto/tls lends its whole buffer for the read of a header, and
// an io.Reader may write anywhere in it, so that is when the reader overwrites it. A test searches the
// buffer before each record, so it fails if crypto/tls keeps plaintext elsewhere.
//
// Writing is controlled above crypto/tls, which copies a record before it encrypts it and may
// leave the copy behind. So a body goes over TLS in records of three bytes. The connection
// takes a request's head from http.Transport and its body from the Body; http.Transport itself writes
// spaces as placeholders for the body.
//
// Callers: cmd/mizan/serving (the listener), api (which reports the end of a connection),
// actors/provider/utp.
//
// Rejected: access to crypto/tls's buffer by reflect and unsafe, which depends on names of
// unexported fields and misses buffers that were replaced; ending a connection after each card,
// which leaves the buffer as garbage and costs a handshake; overwriting what http.Transport
// passes to Write, which an io.Writer must not do.
package wiping
