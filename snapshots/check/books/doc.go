// Package books checks rule 2 for the accounts of one organization: it books all entries again
// and compares the result with the stored pages, page buffers, checkpoints of the trial
// balance, and closed months.
//
// Invariants:
//  1. Totals are computed from entries only; the package trusts no stored total. It adds up stored checkpoints only
//     after each was found equal to what its entries give.
//  2. Memory grows with the number of accounts, not of lines (stored postings): an account's lines are compared
//     by a running hash. Accounts that belong to one contract are not held in memory; only the
//     sum of their lines' hashes is (contract_accounts.go).
//  3. The journal is read a second time only if a comparison fails, to name the first wrong
//     line.
//
// Callers: snapshots/check, which passes the events to the package and starts its scans.
//
// Rejected: checking an account's page when an event on the account is read. Pages are ordered by
// account and events by time, so each line would need a seek. A running hash for each account needs two
// scans and no seeks.
package books
