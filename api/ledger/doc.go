// Package ledgerapi answers the routes of the ledger: accounts and trial balances at any
// time, entries and events, statements, heads and proofs, closed months, exports.
//
// Invariants:
//  1. A partner sees its own accounts. Heads, proofs, periods and exports show events
//     whole and are for the organization's auditors only.
//  2. All pages of a list are of the moment of its first page.
//  3. An export is answered once its first piece is made, and outlives its handler. It
//     reads the journal in pieces and holds no view while its reader is waited for. One
//     that cannot be finished breaks the connection.
//  4. No organization takes all places of exports, and Close returns when no export reads
//     the journal any more.
//
// Callers: package api.
//
// Rejected: an export as a job with a file. It would need a place, an owner and a life of
// its own for what a stream does.
package ledgerapi
