// Package directory checks the records of the directory (organizations, partners, terminals,
// keys, users, limits, rates, settlements) and collects the facts that other rules use.
//
// Invariants:
//  1. A record is read by its columns (ledger/directory) without its secrets. That a column cannot
//     be read, that a required one is missing or that columns contradict each other is a breach.
//  2. Facts grow with the partners, terminals and limits of a store, not with its transactions.
//  3. A changed setting is no evidence about a transaction that began before the change (Facts
//     have the time of each last write).
//
// Callers: snapshots/check (each record of the directory), the packages that check books,
// transactions, deliveries and answers (Facts).
//
// Rejected: reading a partner or a terminal from the store when a transaction names it. Each
// transaction would need a seek.
package directory
