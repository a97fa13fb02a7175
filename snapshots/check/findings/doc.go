// Package findings is the report of a check of a store. The report contains the result of each of the nine rules
// (listed in package check), counts of what the check has read, and a digest of the store.
//
// Invariants:
//  1. The result of a rule is ok, FAIL or skipped. Each rule reports how many things it has checked.
//  2. The details of faults are bounded in number and length. Each detail is one line of printable ASCII.
//  3. A broken rule stays broken: nothing resets its result.
//
// Callers: the packages of the rules (Breach, Count, Skip), snapshots/check, snapshots/backup, cmd/mizan and tests
// (read the report).
//
// Rejected: another design would make an error value for each finding. It was not chosen because a broken store can
// have millions of findings. For each rule, the report instead has a counter and the details of the first findings.
package findings
