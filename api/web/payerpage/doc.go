// Package payerpage makes and opens the addresses of payers' pages.
//
// Invariants:
//  1. An address contains a token that is valid for one transaction, until one instant. The token is the only
//     credential of a payer.
//  2. A token that is forged, or belongs to another transaction, does not reveal whether the
//     transaction exists.
//  3. The token of an address to which the pages lead is of a kind of its own. After its end it opens nothing, but proves that
//     its holder was led there: while the payer may act, api/checkout leads such a payer to the address that lasts.
//
// Callers: api/payments shows addresses, api/checkout opens them, cmd/mizan passes them to the
// actors that send payers back from a provider.
//
// Rejected: stored tokens. Each address would cost a write, and each page a read before its
// caller is known.
package payerpage
