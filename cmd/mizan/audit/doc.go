// Package audit is `mizan audit …`: the checker over a closed store, and an auditor's
// tools against a running server: heads, proofs, closed months, exports.
//
// Invariants:
//  1. The auditor's commands believe nothing that a server answers without a proof
//     under its key. What is not proven ends them with exit code 4, and nothing
//     else does.
//  2. A file appears under its name when it is complete, and never replaces another.
//  3. `audit verify` prints the checker's report and nothing else, because scripts
//     compare what it prints.
//
// Callers: cmd/mizan. The folder evidence holds the proofs themselves and knows
// neither files nor servers.
//
// Rejected: proofs that the server checks on behalf of the auditor.
package audit
