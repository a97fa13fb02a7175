// Package payerpage makes and opens the addresses of payers' pages.
//
// Invariants:
//  1. An address contains a token that is valid for one transaction, until one instant. The token is the only
//     credential of a payer.
//  2. A token that is forged, or belongs to another transaction, does not reveal whether the
//     transaction exists.
//  3. Addresses to which the pages themselves lead have a separate kind of token, the lasting token. Once it has expired it opens
//     nothing, but still proves that a page has led its holder there: while the payer may act, api/checkout redirects such a payer
//     to a new lasting address.
//
// Callers: api/payments shows addresses, api/checkout opens them, cmd/mizan passes them to the
// actors that send payers back from a provider.
//
// Rejected: stored tokens. Each address would cost a write, and each page a read before its
// caller is known.
package payerpage
