// Package ledgerclient is the command `mizan ledger`, which shows an auditor the ledger of an organization (a tenant
// of the service) over the API.
//
// Invariants:
//  1. The package is only a client: it uses the server by HTTP only.
//  2. Tables show amounts in major units, and debits and credits in separate columns. With --json the rows are those
//     of the server.
//  3. A trial balance is shown whole, with a line for the totals of each asset. All of its pages show the same
//     moment.
//
// Callers: cmd/mizan (adds these commands).
//
// Rejected: another design would verify a proof for each response. It was not chosen because these commands are for
// reading; `mizan audit prove` and `mizan audit periods verify` are for proofs.
package ledgerclient
