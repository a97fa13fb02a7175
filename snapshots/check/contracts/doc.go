// Package contracts checks rules 3 and 4 for contracts: their events against the machines of
// products, their columns against their accounts, the registers of holders, their numbers and
// lists, and the screenings and cached replies that belong to them.
//
// Invariants:
//  1. The package trusts a product's machine, what the product computes from a record (Holdings,
//     Due), and which events it declares to move money (Moves). The products' own tests compare
//     these with their entries. Which columns are sums of which lines is copied by hand from
//     POSTINGS.
//  2. An event does not name its product: each event excludes the variants whose machines do not
//     have its step.
//  3. Memory holds one Lifecycle for each contract, one bit for each number, and the holders of
//     one issue at a time.
//
// Callers: snapshots/check, snapshots/check/answers (PastEvents, ShownTotals).
//
// Rejected: holding the balance of each account that belongs to one contract. A contract has
// several such accounts. One fingerprint of all of them is compared, and the contract's events are read
// again only if it differs.
package contracts
