// Package answers checks rule 1 of the nine rules of a check: the store has everything that the API's responses
// showed to clients. The responses are in a file that the clients have written.
//
// Invariants:
//  1. The package reads the file before the store, and remembers a hash of each member of a response.
//  2. A response is compared with the JSON form (ledger/jsonform) of the stored record as it was when the response
//     was sent. All members of both are compared, except members that the store does not determine. The lists named
//     NotStored give the reason for each exception.
//  3. A response of an unknown kind is counted as not compared, and breaks no rule.
//  4. A line that is not a response ends the check, because the program that wrote the file must then have a bug.
//
// Callers: snapshots/check.
//
// Rejected: one design would compare while the file is read. It was not chosen because records are stored in the
// order of their ids and responses are written in the order of time, so each response would need a seek. An earlier
// design had JSON forms written by hand in this package. It was given up because a field that such a form lacked was
// not compared.
package answers
