// Package source tells which addresses count as one sender of requests.
//
// Invariants:
//  1. A sender of IPv6 has at least a network of 64 bits, so all its addresses count as one. Otherwise each bound for
//     an address would allow 2^64 times as much.
//  2. An IPv4 address has one form: mapped into IPv6 it is the same source.
//
// Callers: actors/directory, api/connlimit, api/web/body and api/checkout, for their bounds per sender.
//
// Rejected: a length of the prefix in each package, because one of them would forget it.
package source
