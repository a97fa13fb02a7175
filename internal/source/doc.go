// Package source tells which IP addresses count as one sender of requests (a source), so that a sender cannot evade a limit
// by using another address of its own network.
//
// Invariants:
//  1. All addresses of an IPv6 network of 64 bits count as one source, because a sender with IPv6 has at least such a
//     network. Otherwise each limit per address would allow 2^64 times as much.
//  2. An IPv4 address and the same address mapped into IPv6 are the same source.
//
// Callers: actors/directory, api/connlimit, api/web/body, api/checkout.
//
// Rejected: In another design, each package would choose its own prefix length (the bits of an address that name its
// network). It was not chosen because one of the packages would forget the prefix.
package source
