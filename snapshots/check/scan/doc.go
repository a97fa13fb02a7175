// Package scan reads a whole store once and holds the data that the rules of the checker share. These are the
// view of the store, the report, each record's history according to its events, and fingerprints of entries (a
// fingerprint is one number for the effect of a set of postings). Package scan also names records in the texts
// of faults.
//
// Invariants:
//  1. Nothing is written to the store.
//  2. Memory holds one History of a few hundred bytes for each record, and nothing for a line (a stored
//     posting) or an event. Of long texts and of entries it holds only hashes, made with a seed of this check.
//  3. Every row goes into the digest, except those that Digest leaves out.
//  4. A row that cannot be read breaks the rule to which the row belongs, and the scan continues.
//
// Callers: snapshots/check and its packages of rules.
//
// Rejected: Holding each record's entries until its row is read was considered; it was not chosen because a
// fingerprint (fingerprint.go) takes only eight bytes and serves the comparison as well. The fingerprint of two
// entries together is the sum of their two fingerprints.
package scan
