// Package testseed gives random tests their seed and long tests their duration. The seed and the duration come
// from environment variables, so that a run can be repeated or made longer without changing a test.
//
// Invariants:
//  1. Every seed is logged before it is used. The log line (MIZAN_SEED=1234) is the setting that repeats the run.
//  2. If the value of a variable cannot be parsed, the test fails. The value is never ignored.
//
// Callers: tests and test fixtures in all packages.
//
// Rejected: Flags of the test binary don't work, because `go test ./...` refuses a flag that one of the packages does not know.
package testseed
