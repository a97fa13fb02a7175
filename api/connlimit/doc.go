// Package connlimit bounds the connections of the process's listeners, so that no caller can
// use up its file handles or its memory by connecting.
//
// Invariants:
//  1. A Gate never holds more connections than its total. From one address (for IPv6, one
//     network of 64 bits) it holds at most the bound for addresses; trusted proxies, which
//     connect for many callers, are exempt.
//  2. When a bound is reached, a new connection replaces a waiting one. A connection waits if its
//     caller has nothing to receive and sends nothing, or has not read its response for a while.
//     Connections that never had a valid credential are closed first, beginning with the address
//     that has the most connections, and among these with the oldest. A connection whose request is
//     being handled is never closed.
//  3. Before a connection is closed in this way, every request that was read from it has been
//     answered. Data that arrives at that moment is dropped.
//  4. If no connection can be replaced, the new one is closed. A bound never makes Accept fail
//     or wait.
//  5. Accept waits after a temporary error of accept(2), and logs it. Only a closed or invalid
//     listener ends Accept.
//
// Callers: cmd/mizan, for the API and for metrics; api marks connections whose callers it has
// authenticated.
//
// Rejected: golang.org/x/net/netutil.LimitListener and fasthttp's Concurrency. When their bound is
// reached, the idle connections of one caller keep all others out. Rejected: fasthttp's
// MaxConnsPerIP, which knows only IPv4. Rejected: a list of connections in the order of use. It
// takes a lock at every read, and the best of a sample of 32 is nearly as good as the best of all.
package connlimit
