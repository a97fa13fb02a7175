// Package ledger defines the accounting types that all packages share. These are accounts, postings (amounts debited or
// credited to an account), entries (balanced sets of postings), events (transitions of a record, stored in the journal),
// totals, claims (which reserve a unique key for ever), guards (limits that the journal's writer checks before it books an
// entry) and refusals.
//
// Invariants:
//  1. In an entry, the debits equal the credits in each asset. This also holds for the postings on memorandum accounts alone.
//     An entry has at least two postings, and no posting has the amount zero.
//  2. Amounts are never negative. A balance is a money.Signed. A balance that is not on the account's normal side (debit or
//     credit) is negative.
//  3. The canonical bytes of an event (its encoded form) never change. They are a leaf of the organization's Merkle tree (RFC
//     6962), and an old proof must remain valid in later releases.
//  4. No function of this package reads a clock, a file, a network or randomness.
//
// Callers: ledger/payment, ledger/directory, posting and everything above.
//
// Rejected: The journal could have a row for each transaction, with its postings and its state. But the journal must also
// explain transitions that move no money. So each row is an event, and the entry is an optional part of the event.
package ledger
