// Package jsonwalk reads members of validated JSON without decoding it into values, and reads
// strings.
//
// Invariants:
//  1. The input is one value of strict JSON (valid UTF-8, no name twice). The package does not
//     check it again: for any other input the results are meaningless, but no function panics
//     or loops.
//  2. Names and values alias the input where possible.
//  3. The work of each function is linear in its input, and is reported to package steps, so
//     that a test can count it.
//
// Callers: api and actors/payment (requests), ledger/schema and ledger/jsonform (responses and
// notifications).
//
// Rejected: encoding/json's maps and raw messages, which allocate a map for each object that is
// read once.
package jsonwalk
