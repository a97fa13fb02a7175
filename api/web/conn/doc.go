// Package conn wraps the connections of the API's listeners: it wipes the rest of a request
// from the reader's buffer, delivers a refusal before it closes, and can close connections that
// have not sent anything.
//
// Invariants:
//  1. The bytes of a request in the transport's buffer are overwritten before the buffer is
//     filled again, and when the connection ends, unless another connection owns the buffer by
//     then.
//  2. If the server ends a connection while its caller still sends, it reads for a bounded
//     time, so that the caller receives the response.
//  3. CloseAll closes only connections that have sent nothing yet.
//  4. A read has the deadline that was set last. A write has that deadline, or one that is at most a
//     second earlier.
//
// Callers: package api wraps its listeners; body and the route families end connections and ask
// whether a caller has disconnected.
//
// Rejected: fasthttp's own handling. It regards a connection that has sent nothing as busy, so
// that the server's stop would wait for the read time-out.
package conn
