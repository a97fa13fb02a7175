// Package answers checks rule 1: what clients were answered, according to a file that the
// clients have written, is in the store and equal.
//
// Invariants:
//  1. The package reads the file before the store, and keeps hashes of each answer's fields.
//  2. A field is compared if the record and the shown status determine it. Other fields are
//     counted as not compared: an answer of an unknown kind breaks no rule.
//  3. A line that is not an answer ends the check, because the program that wrote the file has
//     a bug.
//
// Callers: snapshots/check.
//
// Rejected: comparing while the file is read. Records are stored in the order of their ids and
// answers are written in the order of time, so that each answer would need a seek.
package answers
