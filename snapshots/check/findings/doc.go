// Package findings is the report of a check: what was found about each of the nine rules,
// how much there was to check, and a digest of the store.
//
// Invariants:
//  1. A rule is ok, FAIL or skipped, and says how many things it looked at.
//  2. Details are bounded in number and length, and printable ASCII, one line each.
//  3. A rule that is broken stays broken: nothing resets an outcome.
//
// Callers: the packages of the rules (Breach, Count, Skip), snapshots/check,
// snapshots/backup, cmd/mizan and tests (the report).
//
// Rejected: an error a finding. A broken store can have millions; what is kept is a
// counter and the first details.
package findings
