// Package scan reads a whole store once and holds the data that the checker's rules share: the view of the
// store and the report, each record's history according to its events, fingerprints of entries (one number for
// the effect of any set of postings), and the names of records in the texts of faults.
//
// Invariants:
//  1. Nothing is written to the store.
//  2. Memory holds one History of a few hundred bytes for each record, and nothing for a line
//     or an event. Only hashes of long texts and of entries are stored, made with a seed of this check.
//  3. Every row goes into the digest, except those that Digest leaves out.
//  4. A row that can't be read breaks the rule to which it belongs, and the scan continues.
//
// Callers: the packages of the rules, and snapshots/check.
//
// Rejected: holding each record's entries until its row is read. A fingerprint (fingerprint.go) takes
// eight bytes and serves the comparison as well: the fingerprint of two entries together is the sum of
// their two fingerprints.
package scan
