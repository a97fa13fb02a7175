// Package scan reads a whole store once and holds the data that the rules of the checker share. The shared data are the
// view of the store, the report, a history of each record (what its events say), and fingerprints of entries. A
// fingerprint is one number that stands for the effect of a set of postings. Package scan also provides the names of
// records in the texts of faults.
//
// Invariants:
//  1. Nothing is written to the store.
//  2. Memory holds one History of a few hundred bytes for each record, and nothing for each posting or event. Long
//     texts and entries are held as hashes, which are computed with a random seed of this check.
//  3. Every row goes into the digest, except those that Digest leaves out.
//  4. A row that cannot be read breaks the rule to which the row belongs, and the scan continues.
//
// Callers: snapshots/check and its packages of rules.
//
// Rejected: another design would hold each record's entries until the record's row is read. It was not chosen because a
// fingerprint (fingerprint.go) takes only eight bytes and is enough for the comparison: the fingerprint of two entries
// together is the sum of their fingerprints.
package scan
