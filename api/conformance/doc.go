// Package conformance tests the service against its protocol. Its tests talk to the real binary
// over HTTPS as a merchant, a payer and an auditor do. There is one test for each sentence of
// docs/conformance.md that no other test covers.
//
// Invariants:
//  1. The server is a black box: tests know only its responses, its pages and its ledger.
//  2. Expected values are written by hand from the sentence under test. The ledger shows where
//     the money is, in full postings.
//  3. One sandbox server with a manual clock serves all tests of a run. A test that counts or
//     lists has its own merchant. A test moves the clock and never waits for it, so tests do
//     not run in parallel.
//  4. After the last test the server is stopped, and `mizan audit verify` checks its store and
//     searches it for the card numbers that the tests have used.
//  5. docs/conformance.md names every test here; internal/tidy checks it.
//
// Callers: `go test`; nothing imports this package.
//
// Rejected: tests beside the handlers. They would use the wiring of api's own tests, which is
// not what users run, and could depend on internals.
package conformance
