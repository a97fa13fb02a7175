// Package echo is the least that an HTTP server in Fiber can do: it answers each POST with the request's own body.
// `mizan bench payments --against-floor` compares the server with it, so that a figure says something about the
// server and not only about the machine.
//
// Invariants:
//  1. It serves on loopback addresses only, reads no file, and has no credentials.
//  2. The number of connections, the size of a body, and the time that a request and an idle connection take are bounded.
//  3. There is nothing behind a request: no guard, no parsing of the body, no journal.
//
// Callers: bench, which runs it in a process of its own.
//
// Rejected: a route of the API. It would pass the API's own guards and steps, whose cost is a part of what is measured;
// and a production server must not have it.
package echo
