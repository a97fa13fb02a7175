// Package audit is the command `mizan audit`. It contains the checker for a closed store, and an auditor's tools for a running
// server: heads, proofs of events, closed months and exports. (A head is a signed statement of how many events the ledger has,
// and of the root hash over these events.)
//
// Invariants:
//  1. The auditor's commands trust a server's response only if it is proven with the server's key. If a response or a file is
//     not proven, the command ends with exit code 4. No other failure has this code.
//  2. A file with a result is written under a temporary name. The file gets its final name when it is complete, and never
//     replaces another file.
//  3. `audit verify` prints only the checker's report, because scripts compare its output.
//  4. The subpackage evidence checks the proofs. It accesses neither files nor servers.
//
// Callers: cmd/mizan.
//
// Rejected: another design would let the server check the proofs for the auditor. It was not chosen because the
// auditor does not trust the server.
package audit
