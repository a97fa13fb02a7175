// Package books checks the accounts of one organization by rule 2 of the checker: debits equal credits, and
// every total is the sum of its postings. It books all entries again and compares the result with the stored
// pages (rows with an account's lines), page buffers (lines that wait for a page), checkpoints of the trial
// balance, and closed months.
//
// Invariants:
//  1. Totals are computed from entries only; the package trusts no stored total. It adds up stored checkpoints
//     only after it has found each of them equal to the sums of the entries.
//  2. Memory grows with the number of accounts, not of lines (stored postings), because an account's lines are
//     compared by a running hash. For accounts that belong to one contract, memory holds only the sum of their
//     lines' hashes (contract_accounts.go).
//  3. The journal is read a second time only if a comparison fails. The second reading names the first wrong
//     line.
//
// Callers: snapshots/check, which passes events and starts scans.
//
// Rejected: checking an account's page as soon as an event on the account is read was not chosen, because pages are
// ordered by account and events by time, so each line would need a seek. A running hash for each account needs two
// scans and no seeks.
package books
