// Package directory is a part of the store checker (snapshots/check). It checks the records of the directory
// (organizations, partners, terminals, keys, users, limits, rates, settlements) and collects the facts that other rules
// of the checker use.
//
// Invariants:
//  1. A record is decoded by the columns of its type (ledger/directory), without its secrets. It is a breach if a
//     column can't be read, if a required column is missing or if columns contradict each other.
//  2. The memory of Facts grows with the number of partners, terminals and limits of a store. It does not grow with
//     the number of transactions.
//  3. The check judges a transaction by a setting only if the setting has not changed since the transaction began
//     (LastWrite).
//
// Callers: snapshots/check (each record); the packages that check books, transactions, deliveries and answers
// (Facts).
//
// Rejected: another design would read a partner or a terminal from the store when a transaction names it. It was not
// chosen because the check of each transaction would have to seek in the store.
package directory
