// Package contracts checks rules 3 and 4 for contracts: their events against the machines of
// products, their columns against their accounts, the registers of holders, their numbers and
// lists, and the screenings and cached replies that belong to them.
//
// Invariants:
//  1. The package trusts a product's state machine, what the product computes from a record (Holdings,
//     Due), and what it declares: which events move money (Moves), which columns are sums of which
//     lines (Totals), and in which statuses accounts are empty (OpenAfterEnd, EmptyIn). The tests of
//     ledger/contract compare all of it with the entries that the products book.
//  2. An event does not name its product: each event excludes the variants whose state machines
//     do not have its step.
//  3. Memory holds one Lifecycle (a few hashes) for each contract, one bit for each number, and the holders of
//     one issue at a time.
//
// Callers: snapshots/check, snapshots/check/answers (PastEvents, ShownTotals).
//
// Rejected: holding the balance of each account that belongs to one contract. A contract has several such
// accounts. One fingerprint (a number for the effect of all their entries) is compared, and the contract's
// events are read again only if it differs.
package contracts
