// Package ledger defines the accounting types that all packages share. These are accounts, postings (amounts debited
// or credited to an account), entries (balanced sets of postings), events (transitions of a record, in the journal),
// totals, claims (of unique keys, taken for ever), guards (limits that the writer checks before it books) and
// refusals.
//
// Invariants:
//  1. In an entry the debits equal the credits in each asset. The postings on memorandum accounts also balance
//     among themselves. An entry has at least two postings, none of zero.
//  2. Amounts are never negative. A balance is a money.Signed. It is negative if it is not on the account's normal
//     side (debit or credit).
//  3. An event's canonical bytes (its encoded form) never change. They are a leaf of the Merkle tree (RFC 6962) of the
//     organization, and an old proof must remain valid in later releases.
//  4. No function of this package reads a clock, a file, a network or randomness.
//
// Callers: ledger/payment, ledger/directory, posting and everything above.
//
// Rejected: another design would have one type of row for a transaction with its postings, and the row would also
// carry the state of the transaction. It was not chosen because the journal must also explain transitions that move
// no money. So each row is an event, and an entry is an optional part of it.
package ledger
