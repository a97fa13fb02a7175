// Package wiping is connections that do not keep in memory what went over them: TLS that
// forgets what it has read, and requests whose bodies no buffer has held.
//
// crypto/tls decrypts each record where it was received, in a buffer of the
// connection, and the plaintext stays there until another record is as long. On a
// connection that is kept alive, and in the garbage of one that was closed, that is a
// request with a card's number and CVV in the clear.
//
// Invariants:
//  1. When a connection asks for its next record, what it holds of the one before is
//     overwritten first: nothing is waited for with plaintext in the buffer.
//  2. After Wipe nothing is left of what was read, whether or not it was taken.
//  3. No memory is written but what crypto/tls lends for a read, while it lends it.
//  4. A Body is written to its connection from its own memory, and overwritten when it was
//     written or its request has ended. http.Transport never has a byte of it,
//     and crypto/tls never more than three of them together.
//
// Reading stands below crypto/tls, between it and the socket, and hands out one record at a
// time, its header by itself. crypto/tls (bytes.Buffer) begins a record at the buffer's
// beginning if nothing else is in it, and lends all of the buffer for the read of the
// header: an io.Reader may use all of what it was lent as scratch space. It moves to a
// larger buffer only between header and payload, when the old one has been overwritten.
// A test compares the buffer after each read, so that a crypto/tls that works otherwise
// fails it.
//
// Writing stands above crypto/tls, which encrypts a record where it has copied it to, and may
// leave that copy behind: so a body goes over TLS in records of three bytes. The
// connection takes a request's head from http.Transport, and the body from its owner, where
// http.Transport writes the spaces that it was given instead.
//
// Callers: cmd/mizan (the listener), api (which tells when a connection is over),
// actors/provider/utp.
//
// Rejected: reaching for crypto/tls's buffer by reflect and unsafe. It breaks with the
// names of unexported fields, and what a larger buffer has replaced is out of reach.
// Rejected too: ending each connection after a request with a card. The buffer would
// still be garbage in the clear, and each payment would cost a handshake. Rejected too:
// overwriting what http.Transport hands to a connection when it was written. An io.Writer
// must not, and the next version of Go may hand out memory that cannot be written.
package wiping
