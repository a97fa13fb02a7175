// Package connlimit limits the number of connections that the process accepts, so that no caller can use up the process's file
// handles or memory.
//
// Invariants:
//  1. The number of open connections of a Gate never exceeds its total, and the number from one address (for IPv6, one /64
//     network) never exceeds PerAddress. The second bound does not apply to trusted proxies, because they connect for many
//     callers.
//  2. When a bound is reached, a new connection replaces a waiting one, which is closed. A connection waits if the server waits
//     for data from its caller, or if the caller has left a response unread for a while. Connections that never had a valid
//     credential are closed first and, among them, the oldest one from the address with the most connections. A connection
//     whose request is being handled is never closed.
//  3. A waiting connection is closed only after every request that was read from it has been answered. Data that arrives while
//     the connection is being closed is dropped.
//  4. If no connection can be replaced, the new one is closed. Accept neither fails nor waits because a bound is reached.
//  5. After a temporary error of accept(2), Accept logs the error, waits and tries again. It returns an error only if the
//     listener is closed or invalid.
//
// Callers: cmd/mizan (API and metrics listeners), api (marks authenticated connections).
//
// Rejected: golang.org/x/net/netutil.LimitListener and fasthttp's Concurrency, because the idle connections of one caller keep
// out all other callers when the bound is reached; fasthttp's MaxConnsPerIP, because it supports only IPv4; and a list of
// connections in the order of their last use, because the list needs a lock at every read, and the best choice among a sample
// of 32 connections is nearly as good as the best choice among all.
package connlimit
