// Package scan is one reading of a whole store, with what the checker's rules share: the view
// and the report, each record's history according to its events, fingerprints of entries, and
// the names of things in details.
//
// Invariants:
//  1. Nothing is written to the store.
//  2. Memory holds one History of a few hundred bytes for each record, and nothing for a line
//     or an event. Long texts and entries are kept as hashes with a seed of this check.
//  3. Every row that is read goes into the digest, except checkpoints.
//  4. A row that can't be read breaks the rule to which it belongs, and the scan continues.
//
// Callers: the packages of the rules, and snapshots/check.
//
// Rejected: keeping each record's entries until its row is read. A fingerprint, which is the
// sum of the postings weighted by random numbers (fingerprint.go), takes eight bytes, is
// additive as entries are, and is as good for a comparison.
package scan
