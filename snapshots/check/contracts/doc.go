// Package contracts checks rules 3 and 4 for contracts: their events against the machines of
// products, their columns against their accounts, the registers of holders, their numbers and
// lists, and the screenings and kept replies that belong to them.
//
// Invariants:
//  1. Of a product its machine, and what it says of a record (Holdings, Due), are believed;
//     which events have entries, and which columns are sums of which lines, is copied by
//     hand from POSTINGS.
//  2. An event does not name its product: each event leaves those variants that it fits.
//  3. Memory holds a Lifecycle a contract, a bit a number, and the holders of one issue at a
//     time.
//
// Callers: snapshots/check, snapshots/check/answers (ControlTotals, Lifecycle).
//
// Rejected: keeping the balance of each account that a contract has to itself. A contract
// has several; one fingerprint of all of them is compared, and only if it differs are the
// contract's events read again.
package contracts
