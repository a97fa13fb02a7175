// Package contracts checks the contracts of participatory finance in a store, for rule 3 (states of records) and rule 4
// (claims, lists, numbers) of the checker. It compares the contracts' events with the state machines of the products
// (kinds of contract), and the contracts' columns with the balances of their accounts. It also checks the registers of
// certificate holders, the numbers and lists of contracts, and the screenings and cached replies that belong to
// contracts.
//
// Invariants:
//  1. The package trusts a product's state machine, its functions on records (Holdings, Due), and its declarations. The
//     declarations say which events move money (Moves), which columns are sums of which postings (Totals), and in which
//     statuses accounts are empty (OpenAfterEnd, EmptyIn). The tests of ledger/contract compare these declarations with
//     the entries that the products book.
//  2. An event does not name the variant of its contract (the product in one of its readings, secular or religious).
//     Each event excludes the variants whose state machines do not have its step.
//  3. Memory holds one Lifecycle (a few hashes) for each contract, one bit for each contract number, and the holders of
//     one issue of certificates at a time.
//
// Callers: snapshots/check, snapshots/check/answers (PastEvents, ShownTotals).
//
// Rejected: another design would hold the balance of each account that belongs to one contract. It was not chosen
// because a contract has several such accounts, so the balances take more memory. The check instead computes one
// fingerprint for each contract, a number that depends on all entries on these accounts. It reads the contract's events
// again only if the fingerprint is wrong.
package contracts
