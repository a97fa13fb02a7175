// Package conn wraps the network connections of the API's listeners. It wipes the bytes of requests from the
// reader's buffer, delivers a refusal before it closes a connection, and can close connections whose callers
// have not sent anything.
//
// Invariants:
//  1. The bytes of a request in fasthttp's buffer are overwritten before the buffer is filled again. They
//     are also overwritten when the connection ends, unless another connection owns the buffer by then.
//  2. If the server ends a connection while the caller still sends, the server reads for a bounded time, so
//     that the caller receives the response.
//  3. CloseAll closes only connections whose callers have sent nothing yet.
//  4. A read uses the read deadline that was set last. A write uses the write deadline that was set last, or
//     one that is at most a second earlier.
//
// Callers: api (wraps listeners); api/web/body, api/admin and api/payments (connections of requests).
//
// Rejected: Relying on fasthttp's own handling was considered; it was not chosen because fasthttp regards a
// connection without any data as busy, so that the server's shutdown would wait for the read timeout.
package conn
