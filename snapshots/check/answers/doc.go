// Package answers checks rule 1: the store has what the API's responses showed to clients. The responses are in a
// file that the clients have written.
//
// Invariants:
//  1. The package reads the file before the store, and remembers a hash of each member of a response.
//  2. A response is compared with the JSON form (ledger/jsonform) of the stored record as it was
//     when the response was sent. All members of the response and of the JSON form are compared, except those
//     that the store does not determine; the lists named NotStored give the reason for each.
//  3. A response of an unknown kind is counted as not compared, and breaks no rule.
//  4. A line that is not a response ends the check, because the program that wrote the file has
//     a bug.
//
// Callers: snapshots/check.
//
// Rejected: comparing while the file is read. Records are stored in the order of their ids and
// responses are written in the order of time, so that each response would need a seek. JSON forms
// written by hand in this package: a field that such a form lacked was not compared.
package answers
