// Package findings is the report of a check: the result of each of the nine rules, how much the
// check has covered, and a digest of the store.
//
// Invariants:
//  1. A rule is ok, FAIL or skipped, and reports how many things it has checked.
//  2. Details are bounded in number and length, and each is one line of printable ASCII.
//  3. A broken rule stays broken: nothing resets an outcome.
//
// Callers: the packages of the rules (Breach, Count, Skip), snapshots/check, snapshots/backup,
// cmd/mizan and tests (the report).
//
// Rejected: one error value for each finding. A broken store can have millions of findings; the report
// has a counter and the first details.
package findings
