// Package auditor contains the console's pages about the ledger, for auditors and administrators: the trial balance (the totals
// of all accounts), the tree of accounts, statements, entries, events, proofs, closed months and exports.
//
// Invariants:
//  1. Every figure comes from the API's routes. Each page says to which moment its figures belong.
//  2. However long the journal is, a page reads a bounded number of rows. Only the totals of the trial balance and the levels
//     of the tree need a pass over all accounts.
//  3. Beside the total debits and credits of all accounts, the pages show their difference. If it is not 0, words say so, not
//     only a color.
//  4. A proof is checked in the auditor's browser (see package proof), with a key that the auditor has pasted. The page never
//     suggests the server's own key.
//  5. Every page works without scripts. Only the check of a proof needs a script; without scripts, the page shows commands that
//     make the same check.
//
// Callers: api/console.
//
// Rejected: charts. An auditor compares figures, and a chart of balances hides a small balance that is wrong.
package auditor
