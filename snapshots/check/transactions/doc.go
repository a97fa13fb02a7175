// Package transactions checks rule 3 for transactions and subscriptions: it follows their
// events, recomputes prices and entries, and compares both with the stored records.
//
// Invariants:
//  1. Prices and entries are recomputed on math/big from the specification's words
//     (prices.go), without the functions of ledger/payment that made them.
//  2. Of ledger/payment only the table of transitions is believed; its report is committed
//     and reviewed.
//  3. Which events carry entries is a table of POSTINGS, copied by hand (EntryRules).
//
// Callers: snapshots/check (events and records), snapshots/check/answers (prices).
//
// Rejected: calling payment.Decide again on each event. A fault in it would confirm itself.
package transactions
