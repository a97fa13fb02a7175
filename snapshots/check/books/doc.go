// Package books checks rule 2 for the accounts of one organization: it books all entries
// again and compares the result with the stored pages, page buffers, checkpoints of the trial
// balance, and closed months.
//
// Invariants:
//  1. Totals are recomputed from entries alone; no stored total is believed.
//  2. Memory holds an account each, and nothing a line: an account's lines are compared by a
//     running hash. Accounts that belong to one contract are not held at all, only the sum of
//     their lines' hashes (contract_accounts.go).
//  3. Only where a comparison fails is the journal read a second time, to name the first
//     wrong line.
//
// Callers: snapshots/check, which feeds it the events and starts its scans.
//
// Rejected: checking each account's page beside the event that caused it. Pages are in the
// order of accounts and events are not, so that every line would be a seek; a running hash an
// account needs two scans and no seeks.
package books
