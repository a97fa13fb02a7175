// Package source tells which addresses count as one sender of requests.
//
// Invariants:
//  1. A sender with IPv6 has at least a network of 64 bits, so all addresses of such a network count as one source.
//     Otherwise each bound for an address would allow 2^64 times as much.
//  2. An IPv4 address has one form: an IPv4 address that is mapped into IPv6 is the same source.
//
// Callers: actors/directory, api/connlimit, api/web/body and api/checkout, for their bounds per sender.
//
// Rejected: a prefix length that each package chooses, because one of them would forget it.
package source
