// Package payerpage makes the addresses of the pages on which payers pay, and checks such an address when a payer
// opens it.
//
// Invariants:
//  1. An address contains a token that is valid for one transaction and for a limited time. The token is the payer's
//     only credential.
//  2. A token that is forged or belongs to another transaction does not reveal whether the transaction exists.
//  3. Links on the pages themselves have a separate kind of token, the lasting token. An expired lasting token opens
//     nothing, but still proves that its holder was on a page. While the payer may still act, api/checkout redirects
//     the holder of an expired lasting token to an address with a new token.
//
// Callers: api/payments (shows addresses), api/checkout (opens addresses), cmd/mizan (passes addresses to actors).
//
// Rejected: another design would store the tokens. It was not chosen because each address would cost a write, and
// each page would cost a read before the caller is known.
package payerpage
