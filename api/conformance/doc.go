// Package conformance tests that the service does what its protocol says. Like merchants, payers and auditors, its tests talk
// to the real binary over HTTPS. Each sentence of docs/conformance.md that no other test covers has one test here.
//
// Invariants:
//  1. The server is a black box: tests see only its responses, its pages and its ledger.
//  2. Expected values are written by hand from the sentence under test. To find out where the money is, the tests read the
//     postings of the ledger.
//  3. One sandbox server with a manual clock serves all tests of a run. A test that counts or lists has its own
//     merchant. Tests move the clock instead of waiting, so they do not run in parallel.
//  4. After the last test the server is stopped, and `mizan audit verify` checks its store and searches it for
//     the card numbers that the tests have used.
//  5. docs/conformance.md names every test of this package, and internal/tidy checks this.
//
// Callers: `go test`; no package imports this one.
//
// Rejected: tests in the packages of the handlers. They would use the server that the tests of package api assemble, which is
// not the one that users run, and they could depend on internals.
package conformance
