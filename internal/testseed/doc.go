// Package testseed gives random tests their seed and long tests their duration, each from an environment variable, so that a run can be
// repeated and made longer without changing a test.
//
// Invariants:
//  1. Every seed is logged before it is used, in the form in which the environment repeats it: MIZAN_SEED=1234.
//  2. A variable that can't be read fails the test; it is never ignored.
//
// Callers: tests and test fixtures in all packages.
//
// Rejected: flags of the test binary. `go test ./...` refuses a flag that one of the packages does not know.
package testseed
