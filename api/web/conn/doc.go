// Package conn wraps the connections of the API's listeners: it wipes what the reader's
// buffer keeps of a request, sends the end of a refused answer before it closes, and can
// close connections that have not asked for anything.
//
// Invariants:
//  1. What the transport's buffer holds of a request is overwritten before the buffer is
//     filled again, and when the connection ends, unless another connection has the
//     buffer by then.
//  2. A connection that the server ends while its caller still sends is read for a bounded
//     time, so that the caller receives the answer.
//  3. CloseAll ends only connections that have sent nothing yet.
//
// Callers: package api wraps its listeners; body and the route families end connections
// and ask whether a caller has gone.
//
// Rejected: fasthttp's own handling. It takes a connection that has sent nothing for a
// busy one, so that a stop would wait for the read time-out.
package conn
