// Package directory is a part of the checker of stores (snapshots/check). It checks the records of the directory
// (organizations, partners, terminals, keys, users, limits, rates, settlements) and collects the facts that other
// rules of the checker use.
//
// Invariants:
//  1. A record is read by its columns (ledger/directory), without its secrets. It is a breach if a
//     column can't be read, if a required column is missing or if columns contradict each other.
//  2. The memory of Facts grows with the number of partners, terminals and limits of a store. It does not grow with
//     the number of transactions.
//  3. A setting is not used to judge a transaction that began before the last change of the setting (LastWrite).
//
// Callers: snapshots/check (each record); the packages that check books, transactions, deliveries and answers
// (Facts).
//
// Rejected: Another design would read a partner or a terminal from the store when a transaction names it. It was not
// chosen because each transaction would need a seek.
package directory
