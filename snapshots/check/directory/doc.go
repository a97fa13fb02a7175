// Package directory checks the records of the directory (organizations, partners, terminals,
// keys, users, limits, rates, settlements) and collects the facts that other rules use.
//
// Invariants:
//  1. A record is read by its columns (ledger/directory), without its secrets. It is a breach if a
//     column can't be read, if a required column is missing or if columns contradict each other.
//  2. The memory of Facts grows with the partners, terminals and limits of a store, not with its transactions.
//  3. Nothing is concluded from a setting about a transaction that began before the setting's last
//     change (LastWrite).
//
// Callers: snapshots/check (each record of the directory), the packages that check books,
// transactions, deliveries and answers (Facts).
//
// Rejected: reading a partner or a terminal from the store when a transaction names it. Each
// transaction would need a seek.
package directory
