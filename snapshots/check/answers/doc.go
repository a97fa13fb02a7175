// Package answers checks rule 1: what clients were answered, by a file that they have written,
// is in the store and equal.
//
// Invariants:
//  1. The file is read before the store; each answer is kept as hashes of its fields.
//  2. A field is compared where the record and the status shown determine it, and counted
//     as not compared elsewhere: an answer of no known kind breaks nothing.
//  3. A line that is no answer is a mistake of whoever wrote the file, and ends the check.
//
// Callers: snapshots/check.
//
// Rejected: comparing while the file is read. Records are in the order of ids and answers in
// that of time, so that each answer would be a seek.
package answers
