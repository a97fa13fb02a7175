// Package payerpage makes and opens the addresses of payers' pages.
//
// Invariants:
//  1. An address holds a token for one transaction until one instant. The token is the
//     only credential of a payer.
//  2. A token that is forged, or of another transaction, says nothing about whether the
//     transaction exists.
//
// Callers: api/payments shows addresses, api/checkout opens them, cmd/mizan gives them to
// the actors that send payers back from a rail.
//
// Rejected: tokens that are stored. An address would then cost a write, and a page a read
// before its caller is known.
package payerpage
