// Package directory checks the records of the directory (organizations, partners, terminals,
// keys, users, limits, rates, settlements) and collects the facts that other rules use.
//
// Invariants:
//  1. The package has its own decoder of the stored form, and does not use the code that wrote
//     it.
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
