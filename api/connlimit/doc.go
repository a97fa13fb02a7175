// Package connlimit bounds the connections that listeners of the process hold, so that
// no caller can use up its file handles or its memory by connecting.
//
// Invariants:
//  1. A Gate never holds more connections than its total, nor more from one address (of
//     IPv6, one network of 64 bits) than its bound for addresses, but for trusted proxies,
//     which connect for many.
//  2. At a bound a new connection takes the place of one that waits: for its caller to
//     send, or to read what it was answered for a while. The first to go are those that
//     have never brought a valid credential, of the address with the most connections, and
//     the oldest of these. One whose request is being handled is never closed.
//  3. A connection that was closed so has had no request read from it that is not answered:
//     what arrives at that moment is dropped.
//  4. Where none can be closed, the new one is. No bound makes Accept fail or wait.
//  5. An error of accept(2) that will pass is waited out, and logged. Only a listener that
//     is closed, or no listener, ends Accept.
//
// Callers: cmd/mizan, for the API and for metrics; api marks connections whose callers it
// has checked.
//
// Rejected: golang.org/x/net/netutil.LimitListener and fasthttp's Concurrency (at the bound
// idle connections of one caller keep out everybody), fasthttp's MaxConnsPerIP (of IPv4
// only), and a list in the order of use (a lock at every read; of a sample of 32 one is
// nearly as good to close as the best of all).
package connlimit
