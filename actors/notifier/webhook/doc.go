// Package webhook delivers one notification to a merchant's address, once, and reports the result. The caller
// decides when an attempt is made and whether another one follows.
//
// Invariants:
//  1. The envelope is the JSON object around a notification's data. It is formed when an attempt begins, and has the
//     timestamp and the signature of that instant. The event's id and data are the same at each attempt.
//  2. The signed bytes are the sent bytes. Without a secret there are no signature headers.
//  3. Any 2xx status acknowledges the notification as soon as the response's header has arrived, even if the body is
//     wrong or never comes. At most 64 KiB of the body are read. If the body is longer, the connection is closed.
//  4. An attempt has 5 s of real time for its connection (name look-up, TCP and TLS together) and 15 s in all. Every
//     read, write and look-up has a deadline.
//  5. Each new connection is checked after the name look-up, at the dialled address. The address must be on the
//     internet unless Options.AllowPrivate is set; any port is allowed. An IPv4 address in IPv6 form is checked and
//     dialled as IPv4. Redirects, cookies and proxies of the environment are ignored.
//  6. A request is sent again only if a reused connection ended before the first byte of a response. In this case the
//     server has most likely closed the connection because it was idle, and has not read the request. The request is
//     sent the second time on a new connection, within the same 15 s, and still belongs to the same attempt. If the
//     receiver did read the first request, it recognises the event_id.
//  7. A connection is reused only if the response was read to its end and no byte has followed. So bytes that arrive
//     too late cannot acknowledge the next delivery.
//  8. At most Options.MaxConns connections are open, idle ones included. A delivery beyond this bound waits before
//     its attempt begins. An idle connection is closed if a new connection needs its place.
//  9. Idle connections are closed after 30 s, and no connection is used for more than 5 minutes, so that a
//     changed DNS entry takes effect.
//  10. An Attempt and the log contain nothing of a path, query, body, secret or header.
//
// Callers: actors/notifier.
//
// Rejected:
//   - net/http's client was not chosen because each connection needs two goroutines. So it costs 77% more
//     processor time per delivery, the server's part included (this package's benchmarks compare them). Up to
//     a third more would have been acceptable.
//   - fasthttp's client was not chosen because it breaks this contract, although it costs only 5% more. It
//     reuses connections without looking for left-over bytes, so that a late 200 acknowledges the next
//     delivery. It bounds connections only per host, and for each host it keeps goroutines that never end. If
//     a connection breaks before the first byte, it reports only EOF. Only fasthttp's parser of headers and
//     bodies is used. The parser starts from the beginning with each piece that arrives, so it is called only
//     after a check of the first line and once a header is complete.
//   - Resending after every failure before a response was not chosen because a receiver that crashes on a
//     notification would get the notification twice as often.
package webhook
