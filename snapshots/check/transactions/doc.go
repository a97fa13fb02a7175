// Package transactions checks rule 3 for transactions and subscriptions: it follows their
// events, recomputes prices and entries, and compares both with the stored records.
//
// Invariants:
//  1. Prices and entries are computed with math/big from the rules that prices.go states,
//     without the functions of ledger/payment that produced them.
//  2. The package trusts only ledger/payment's table of transitions, which is printed to a committed
//     and reviewed file.
//  3. Which events must have entries is a table that is written by hand (EntryRules).
//
// Callers: snapshots/check (events and records), snapshots/check/answers (Past, PastSubscriptions).
//
// Rejected: calling payment.Decide again for each event. A bug in payment.Decide would not be found.
package transactions
