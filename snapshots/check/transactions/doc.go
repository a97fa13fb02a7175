// Package transactions checks rule 3 of the checker of stores (snapshots/check), which is about the states of
// records, for transactions and subscriptions. It follows their events, recomputes prices and entries, and compares
// the results with the stored records and entries.
//
// Invariants:
//  1. Prices and entries are computed with math/big from the rules that prices.go states,
//     without the functions of ledger/payment that produced them.
//  2. The package trusts only ledger/payment's table of transitions, which is printed to a committed
//     and reviewed file.
//  3. EntryRules, a table that is written by hand, says which events must have entries.
//
// Callers: snapshots/check (events and records), snapshots/check/answers (Past, SubscriptionHistory).
//
// Rejected: Another design would call payment.Decide again for each event. It was not chosen because a bug in
// payment.Decide would not be found.
package transactions
