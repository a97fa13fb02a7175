// Package echo is a minimal HTTP server that answers each POST with the request's own body. It uses Fiber, the HTTP
// library of the service. `mizan bench payments --against-floor` measures both the service and this server on the same
// machine. The ratio of the two results depends less on the machine than each result alone.
//
// Invariants:
//  1. The server listens on loopback addresses only, reads no files, and has no credentials.
//  2. The number of connections, the size of a request's body, the duration of a request, and the time for which a
//     connection may be idle are bounded.
//  3. A request causes no work besides the echo: no request guard, no parsing of the body, no journal.
//
// Callers: bench, which runs the server in a separate process.
//
// Rejected: another design would make this a route of the API. It was not chosen because requests would pass the
// API's own guard and steps, whose cost is a part of what is measured, and because a production server must not have
// such a route.
package echo
