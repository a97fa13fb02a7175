// Package conformance tests that the service does what its protocol says. Its tests talk to the real binary
// over HTTPS as a merchant, a payer and an auditor do. Each sentence of docs/conformance.md that no other test
// covers has one test here.
//
// Invariants:
//  1. The server is a black box: tests see only its responses, its pages and its ledger.
//  2. Expected values are written by hand from the sentence under test. The full postings in the ledger show
//     the tests where the money is.
//  3. One sandbox server with a manual clock serves all tests of a run. A test that counts or lists has its own
//     merchant. Tests move the clock instead of waiting, so they do not run in parallel.
//  4. After the last test the server is stopped, and `mizan audit verify` checks its store and searches it for
//     the card numbers that the tests have used.
//  5. docs/conformance.md names every test of this package, and internal/tidy checks this.
//
// Callers: `go test`; no package imports this one.
//
// Rejected: Tests in the packages of the handlers were considered; they were not chosen because they would use
// the server that api's own tests assemble, which is not the one that users run, and because they could depend
// on internals.
package conformance
