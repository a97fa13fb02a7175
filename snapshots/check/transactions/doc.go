// Package transactions checks the transactions and subscriptions in a store, for rule 3 (states of records) of the
// store checker (snapshots/check). It reads their events, recomputes prices and entries, and compares the results with
// the stored records and entries.
//
// Invariants:
//  1. Prices and entries are computed with math/big from the rules that prices.go states. The functions of
//     ledger/payment, which computed the stored values, are not used.
//  2. The package trusts only ledger/payment's table of transitions, which is printed to a committed
//     and reviewed file.
//  3. The table EntryRules says which events must have entries. It is written by hand, not derived from ledger/payment.
//
// Callers: snapshots/check (events and records), snapshots/check/answers (PastResponse, SubscriptionHistory).
//
// Rejected: another design would call payment.Decide again for each event. It was not chosen because it would not find
// a bug in payment.Decide.
package transactions
