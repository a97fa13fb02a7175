// Package conformance holds the service to its protocol: tests that talk to the
// real binary over HTTPS as a merchant, a payer and an auditor do, one for each
// sentence of docs/conformance.md that no other test proves.
//
// Invariants:
//  1. The server is a black box: nothing is known of it but what its answers,
//     its pages and its ledger say.
//  2. What is expected is written by hand, from the sentence that the test is
//     about. Where money should be is asked of the ledger, in full postings.
//  3. One server in the sandbox, with a manual clock, serves all tests of a run.
//     A test that counts or lists has a merchant of its own; the clock is moved,
//     never waited for, so tests do not run in parallel.
//  4. After the last test the server is stopped and `mizan audit verify` reads
//     its store, looking for the card numbers that the tests have used.
//  5. Every test here is named in docs/conformance.md; internal/tidy looks.
//
// Callers: `go test`; there is nothing to import.
//
// Rejected: tests beside the handlers. They would share the wiring of api's own
// tests, which is not the wiring that users run, and could reach inside.
package conformance
