// Package wiping makes network connections that leave no card's number or CVV in memory. For a server it has TLS connections
// that overwrite what they have read. For a client it has request bodies of which no buffer holds a copy.
//
// crypto/tls decrypts a record in the buffer in which it was received. The plaintext stays there until a record at least as
// long overwrites it, even while the connection waits for data or after it was closed.
//
// Invariants:
//  1. When a connection asks for its next record, the previous record in its buffer is overwritten first. So no connection
//     waits for data with plaintext in its buffer.
//  2. After Conn.Wipe the connection holds none of the bytes that were received, whether or not its user has read them.
//  3. Only memory that crypto/tls lends for a read is written, and only during the read.
//  4. A Body (the body of a client's request) is written to its connection from its own memory. This memory is overwritten
//     when all of it was written or when its request has ended. http.Transport never sees a byte of the Body, and crypto/tls
//     never sees more than three bytes at a time.
//  5. If a client sends an HTTP request without TLS, the received bytes are overwritten too, because they may contain a card.
//
// Reading is controlled below crypto/tls, at the socket. The reader returns one record at a time, and the record's header
// separately. When crypto/tls reads a header, it passes its whole buffer to the reader, and an io.Reader may write anywhere
// in that slice. At this moment the reader overwrites the buffer. A test searches the buffer before each record, so it fails
// if crypto/tls keeps plaintext elsewhere.
//
// Writing is controlled above crypto/tls, which copies a record before it encrypts it and may leave the copy behind. So a
// body is sent in TLS records of three bytes. http.Transport writes the request's head, and spaces as placeholders for the
// body. The connection sends the head unchanged, and sends the content of the Body in place of the spaces.
//
// Callers: cmd/mizan/serving (listener), api (reports a connection's end), actors/provider/utp.
//
// Rejected: Another design would reach crypto/tls's buffer by reflect and unsafe. It was not chosen because it
// depends on the names of unexported fields and misses buffers that were replaced. A third design would end a
// connection after each card. It was not chosen because the buffer would be left as garbage, and each card would cost
// a handshake. A fourth design would overwrite the slice that http.Transport passes to Write. It was not chosen
// because an io.Writer must not change that slice.
package wiping
