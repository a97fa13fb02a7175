// Package auditor has the console's pages about the ledger, for auditors and administrators. They show the trial
// balance (the totals of all accounts), the tree of accounts, statements, entries, events, proofs, closed months and
// exports.
//
// Invariants:
//  1. Every figure comes from the API's own routes. Each page shows the moment for which its figures hold.
//  2. A page reads a bounded number of rows, however long the journal is. Only the totals of the trial balance, and a
//     level of the tree, take one pass over all accounts.
//  3. The totals of all accounts are shown with their difference. A difference other than 0 is stated in words, not by color
//     alone.
//  4. A proof is checked in the auditor's browser (package proof) with the key that the auditor pasted. The page
//     never suggests the server's own key.
//  5. Every page works without scripts, except the page that checks a proof. Without scripts, the page of a proof
//     shows commands that make the same check.
//
// Callers: api/console.
//
// Rejected: another design would show charts. It was not chosen because an auditor compares figures, and a chart of
// balances hides a small balance that is wrong.
package auditor
