// Package source tells which IP addresses count as one sender of requests (a source), so that a sender cannot evade a limit
// by using another address of its own network.
//
// Invariants:
//  1. All addresses of an IPv6 network of 64 bits count as one source, because a sender with IPv6 has at least such a network.
//     If each address counted alone, such a sender could exceed every limit by a factor of 2^64.
//  2. An IPv4 address and the same address mapped into IPv6 are the same source.
//
// Callers: actors/directory, api/connlimit, api/web/body, api/checkout.
//
// Rejected: Each package could itself convert addresses to networks. But sooner or later one of the packages would forget this,
// and limit single addresses.
package source
