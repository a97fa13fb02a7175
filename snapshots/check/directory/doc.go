// Package directory checks the records of the directory (organizations, partners, terminals,
// keys, users, limits, rates, settlements) and gathers from them what other rules need.
//
// Invariants:
//  1. It reads the stored form by itself, and not with the code that wrote it.
//  2. Facts grow with the partners, terminals and limits of a store, not with its
//     transactions.
//  3. A setting that was changed is no evidence about a transaction that began before the
//     change (Facts say when each was written last).
//
// Callers: snapshots/check (each record of the directory), the packages that check
// books, transactions, deliveries and answers (Facts).
//
// Rejected: reading a partner or a terminal from the store when a transaction names it. It
// is a seek a transaction.
package directory
