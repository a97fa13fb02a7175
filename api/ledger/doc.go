// Package ledgerapi serves the routes of the ledger: accounts and trial balances at any time,
// entries and events, statements, heads and proofs, closed months, exports.
//
// Invariants:
//  1. A partner sees its own accounts. Heads, proofs, periods and exports show whole events and
//     are only for the organization's auditors.
//  2. All pages of a list show the moment of its first page.
//  3. The response to an export begins when its first piece is ready, and outlives its handler. An
//     export reads the journal in pieces, and has no view (a snapshot of the store) open while it
//     waits for its reader. An export that fails breaks the connection.
//  4. No organization can run as many exports as may run at once in total, and Close returns after all exports have
//     stopped reading the journal.
//
// Callers: package api.
//
// Rejected: an export as a job with a file. The file would need a place, an owner and a
// lifecycle; a stream needs none.
package ledgerapi
