// Package audit is `mizan audit …`: the checker for a closed store, and an auditor's tools for
// a running server: heads (signed statements of how many events the ledger has, with their root hash), proofs of
// events, closed months, exports.
//
// Invariants:
//  1. The auditor's commands trust a server's response only if it is proven with the server's key. A response or file
//     that is not proven ends the command with exit code 4. No other failure has this code.
//  2. A file with a result is written under a temporary name. It gets its own name when it is complete, and never
//     replaces another file.
//  3. `audit verify` prints the checker's report and nothing else, because scripts compare its
//     output.
//
// Callers: cmd/mizan. The folder evidence checks the proofs; it uses neither files nor servers.
//
// Rejected: proofs that the server checks on behalf of the auditor, because the auditor does not trust the server.
package audit
