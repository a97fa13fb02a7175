// Package testseed gives random tests their seed and long tests their duration. The seed and the duration come
// from environment variables, so that a run can be repeated or made longer without changing a test.
//
// Invariants:
//  1. Every seed is logged before it is used, in the form that repeats the run: MIZAN_SEED=1234.
//  2. A variable whose value cannot be parsed fails the test. It is never ignored.
//
// Callers: tests and test fixtures in all packages.
//
// Rejected: Flags of the test binary were considered; they were not chosen because `go test ./...` refuses a
// flag that one of the packages does not know.
package testseed
