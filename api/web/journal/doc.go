// Package journal answers with pages of an organization's journal: events, entries and
// accounts, as far as the caller may see them.
//
// Invariants:
//  1. A partner sees entries that post to its own accounts, and of these only its own
//     postings.
//  2. A page reads a bounded number of events. A page that finds less than it may hold
//     says where the next one continues.
//  3. A search takes the shortest way: one record's events, the lines of the accounts
//     asked for, or the whole journal.
//
// Callers: api/ledger, and api/contracts for the entries of a contract.
//
// Rejected: these functions in api/ledger. Families do not import each other.
package journal
