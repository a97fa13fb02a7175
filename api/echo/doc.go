// Package echo is a minimal HTTP server in Fiber (the HTTP library of the service), which answers each POST with the
// request's own body. `mizan bench payments --against-floor` measures the service and this server on the same
// machine. The ratio of the two figures depends less on the machine than each figure alone.
//
// Invariants:
//  1. It serves on loopback addresses only, reads no file, and has no credentials.
//  2. The number of connections, the size of a body, the time of a request and the time of an idle connection are bounded.
//  3. A request causes no other work: no guard, no parsing of the body, no journal.
//
// Callers: bench, which runs it in a process of its own.
//
// Rejected: another design would make this a route of the API. It was not chosen because requests would pass the
// API's own guard and steps, whose cost is a part of what is measured, and because a production server must not have
// such a route.
package echo
