// Package answers checks rule 1: what clients were answered, according to a file that the
// clients have written, is in the store and equal.
//
// Invariants:
//  1. The package reads the file before the store, and keeps a hash of each member of an answer.
//  2. An answer is compared with the JSON form (ledger/jsonform) of the stored record as it was
//     when the answer was given: every member of either, whatever its name. The members that
//     nothing stored determines are listed, each with the reason (notStored).
//  3. An answer of an unknown kind is counted as not compared, and breaks no rule.
//  4. A line that is not an answer ends the check, because the program that wrote the file has
//     a bug.
//
// Callers: snapshots/check.
//
// Rejected: comparing while the file is read. Records are stored in the order of their ids and
// answers are written in the order of time, so that each answer would need a seek. Forms written
// by hand in this package: a field that they lacked was not compared.
package answers
