// Package connlimit bounds the connections of the process's listeners, so that no caller can
// use up its file handles or its memory by connecting.
//
// Invariants:
//  1. A Gate never holds more connections than its total. It holds at most PerAddress connections from one
//     address (for IPv6, from one /64 network). Trusted proxies are exempt from this second bound, because they connect
//     for many callers.
//  2. When a bound is reached, a new connection replaces a waiting one. A connection waits if its caller has nothing
//     to receive and sends nothing, or has not read its response for a while. Connections that never had a valid
//     credential are closed first. Among them, the address with the most connections loses its oldest one. A
//     connection whose request is being handled is never closed.
//  3. Before a waiting connection is closed, every request that was read from it has been answered. Data that arrives
//     at that moment is dropped.
//  4. If no connection can be replaced, the new one is closed. A bound never makes Accept fail
//     or wait.
//  5. Accept waits after a temporary error of accept(2), and logs it. Only a closed or invalid
//     listener ends Accept.
//
// Callers: cmd/mizan (API and metrics listeners), api (marks authenticated connections).
//
// Rejected: Three existing limits were considered. golang.org/x/net/netutil.LimitListener and fasthttp's Concurrency
// were not chosen because the idle connections of one caller keep all others out when the bound is reached.
// fasthttp's MaxConnsPerIP was not chosen because it supports only IPv4. Another design of the Gate would keep a list
// of connections in the order of use. It was not chosen because the list needs a lock at every read, and the best of
// a sample of 32 connections is nearly as good as the best of all.
package connlimit
