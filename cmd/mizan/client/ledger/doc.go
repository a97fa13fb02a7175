// Package ledgerclient implements the command `mizan ledger`, which shows an auditor the ledger of an organization (a tenant of
// the service) over the API.
//
// Invariants:
//  1. The package is only a client: it reaches the server only over HTTP.
//  2. Tables show amounts in major units, and debits and credits in separate columns. With --json the server's rows are printed
//     unchanged.
//  3. A trial balance is always complete, with a line of totals for each asset. All pages of its list belong to the same
//     moment.
//
// Callers: cmd/mizan, which adds these commands to its own.
//
// Rejected: Verifying a proof for each response was considered. It was not chosen because these commands only show data; `mizan
// audit prove` and `mizan audit periods verify` handle proofs.
package ledgerclient
