// Package answers checks the first of the checker's nine rules: the store has everything that the API's responses
// showed to clients. The responses are in a file that the clients have written.
//
// Invariants:
//  1. The package reads the file before the store. In memory it keeps only a hash of each member of a response.
//  2. A response is compared with the JSON form (ledger/jsonform) of the stored record as it was when the response
//     was sent. All members of both are compared, except members whose values the store does not determine. The lists
//     named NotStored give the reason for each exception.
//  3. A response of an unknown kind is counted as not compared, and breaks no rule.
//  4. A line that is not a response ends the check, because the program that wrote the file must then have a bug.
//
// Callers: snapshots/check.
//
// Rejected: comparing while the file is read was not chosen, because records are stored in the order of their ids and
// responses are written in the order of time, so each response would need a seek. In an earlier design this package
// wrote the JSON forms itself. It was given up because a field that was forgotten there was not compared.
package answers
