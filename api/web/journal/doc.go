// Package journal responds with pages of an organization's journal: the events, entries and
// accounts that the caller may see.
//
// Invariants:
//  1. A partner sees the entries that post to its own accounts, and in them only its own
//     postings.
//  2. A page reads a bounded number of events. A page with fewer rows than requested has a cursor
//     to the next one.
//  3. A search reads the shortest source: one record's events, the lines (postings) of the
//     requested accounts, or the whole journal.
//
// Callers: api/ledger, and api/contracts for the entries of a contract.
//
// Rejected: these functions in api/ledger. Route families do not import each other.
package journal
