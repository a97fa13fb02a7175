// Package scan is one reading of a whole store, and what the rules of the checker share: the
// view and the report, the history of each record by its events, fingerprints of entries, and
// the words in which details name things.
//
// Invariants:
//  1. Nothing is written to the store.
//  2. A History takes a few hundred bytes and there is one a record; nothing is kept a
//     line or an event. Long texts and entries are kept as hashes by a seed of this check.
//  3. Every row that is read, but for checkpoints, goes into the digest.
//  4. A row that can't be read breaks the rule that it belongs to; the scan goes on.
//
// Callers: the packages of the rules, beside it, and snapshots/check.
//
// Rejected: keeping each record's entries until its row is read. A fingerprint, the sum of
// the postings by random weights (fingerprint.go), takes eight bytes, adds up as entries do,
// and tells as much.
package scan
