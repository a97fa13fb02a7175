// Package ledgerapi serves the API's routes for reading the ledger: accounts and trial balances at any time, entries
// and events, statements, heads (signed root hashes of the journal) and their proofs, closed months, and exports.
//
// Invariants:
//  1. A partner (merchant) sees only its own accounts. Heads, proofs, closed months and exports show whole events, so
//     only the organization's auditors may read them.
//  2. All pages of a list show the state at the moment of its first page.
//  3. The response to an export begins when the first piece of its content is ready, and continues after its handler has
//     returned. An export reads the journal in pieces. While it waits for its reader, it has no view (a snapshot of the
//     store) open. If an export fails, the server breaks the connection, so that the reader notices.
//  4. The number of running exports is bounded. The bound for a single organization is lower, so that other organizations can
//     run exports, too. Handlers.Close returns after all exports have stopped reading the journal.
//
// Callers: package api.
//
// Rejected: another design would make an export a job that writes a file. It was not chosen because the file would
// need a place, an owner and a lifecycle, and a stream needs none of them.
package ledgerapi
