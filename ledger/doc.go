// Package ledger defines the accounting types that all packages share: accounts, postings,
// entries, events, totals, claims, guards and refusals.
//
// Invariants:
//  1. In an entry the debits equal the credits in each asset, also if only the memorandum accounts are counted.
//     An entry has at least two postings, none of zero.
//  2. Amounts are never negative; a balance that is not on the account's normal side
//     is shown as a money.Signed.
//  3. An event's canonical bytes never change: they are a leaf of the
//     organization's Merkle tree (RFC 6962), and proofs outlive releases.
//  4. Nothing here reads a clock, a file, a network or randomness.
//
// Callers: ledger/payment, ledger/directory, posting and everything above.
//
// Rejected: one row type for "transaction with legs" that also carries the
// business state. The journal must explain transitions that move no money too,
// so the event is the unit and the entry is its optional part.
package ledger
