// Package ledgerclient is `mizan ledger …`: an organization's ledger as its auditor reads it over the API.
//
// Invariants:
//  1. It is only a client: it uses the server by HTTP only.
//  2. Tables have amounts in major units, and debits and credits in columns of their own; --json has the server's rows.
//  3. A trial balance is whole: all of its pages, which show the same moment, and a line with the totals of each asset.
//
// Callers: cmd/mizan, which adds these flags and commands to its own.
//
// Rejected: to believe nothing without a proof, as `mizan audit` does. These commands are for looking; a proof is another command.
package ledgerclient
