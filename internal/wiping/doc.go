// Package wiping makes network connections that leave no card number or CVV in memory. For servers, it has TLS connections that
// overwrite received data in memory. For clients, it has request bodies that are never copied to a buffer as a whole.
//
// crypto/tls decrypts a record in the buffer in which it was received. The plaintext stays in the buffer until a record of at
// least the same length overwrites it. So plaintext would be in memory while the connection waits for data, and even after the
// connection was closed.
//
// Invariants:
//  1. Before a connection reads its next record, it overwrites the previous record in its buffer. So the buffer has no
//     plaintext while the connection waits for data.
//  2. After Conn.Wipe, none of the received bytes are left in the memory of the connection, whether its user has read them or
//     not.
//  3. The package overwrites memory of crypto/tls only during a Read, and only in the slice that crypto/tls passes to Read.
//  4. A Body (the body of a client's request) is written to the connection directly from the Body's memory. This memory is
//     overwritten when the whole Body was written, or when the request has ended. http.Transport never sees a byte of the Body,
//     and crypto/tls never sees more than three bytes at a time.
//  5. If a client sends an HTTP request without TLS, the received bytes are overwritten too, because they may contain a card.
//
// Received data is overwritten below crypto/tls, by the reader from which crypto/tls reads. This reader returns one record at a
// time, and the record's header separately. When crypto/tls reads a header, it passes its whole buffer to the reader, and an
// io.Reader may write anywhere in that slice. At this moment the reader overwrites the buffer. A test searches the buffer
// before each record. If a new version of crypto/tls keeps plaintext in another place, the test fails.
//
// Sent data is protected above crypto/tls. crypto/tls copies a record before it encrypts the record, and may leave the copy in
// memory. So a body is sent in TLS records of three bytes. http.Transport writes the request's head, and spaces as placeholders
// for the body. The connection sends the head unchanged, and sends the content of the Body in place of the spaces.
//
// Callers: cmd/mizan/serving (listener), api (calls Conn.Wipe when a connection ends), actors/provider/utp.
//
// Rejected: With reflect and unsafe, the package could find the buffer of crypto/tls. But this depends on the names of
// unexported fields, and misses buffers that crypto/tls has replaced. A connection could be closed after each card. But the
// buffer would become garbage that still contains the card, and each card would need a handshake. Finally, Write could
// overwrite the slice that http.Transport passes to it. But an io.Writer must not change that slice.
package wiping
