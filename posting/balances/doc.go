// Package balances reads balances of any moment, of one account or of all, by booked time or by
// effective date, and makes the checkpoints from which trial balances start.
//
// There are two ways to compute the totals booked by a moment for a trial balance. Both give the same
// rows.
//
//   - From the pages, the rows with accounts' lines: the last line of an account up to that moment has the account's
//     totals. The cost is proportional to the number of accounts that are read. This way is used for fewer than
//     fewAccounts accounts, and for an organization whose checkpoints are missing or far behind.
//   - From the last checkpoint up to that moment and the events after it. A checkpoint contains, for each account, what the
//     events since an earlier checkpoint (its base) have added to the totals. So the totals are the sum over the checkpoint, its
//     base, the base's base and so on: its chain. The cost is proportional to the number of accounts that are read and of the
//     events after the checkpoint, which the distance between checkpoints bounds. The sums of these events are cached, because a
//     caller may read the same trial balance page by page.
//
// A balance by effective date is the balance booked by the end of the day, corrected by the lines whose
// booked time and effective day are on different sides of that instant. The correction takes one pass
// over the organization's shifted lines (those whose effective day is not their booked day), and is the same for
// both ways.
//
// Invariants:
//  1. A checkpoint never changes a result: a row that does not match the row that lists it is not
//     used, and the totals of its accounts are read from the pages.
//  2. The position and the content of a checkpoint follow from the journal alone, so a rebuilt
//     checkpoint equals the lost one.
//  3. Accounts come in the order of their keys, each once, even if the reader changes from one way to
//     the other in between.
//  4. A reader holds at most twice maxTurnover accounts in memory while it reads, and of each of at most maxChain
//     checkpoints one row of each height. It caches at most maxKept accounts afterwards. Making a checkpoint takes no
//     more memory.
//  5. A checkpoint has more than twice as many accounts as any checkpoint whose base it is. So a chain is short, all
//     its checkpoints together have less than twice as many accounts as its oldest one, and an account is written again
//     only when it is merged into a much longer checkpoint.
//
// Callers: api/ledger, actors/period, actors/checkpoint, and the tests of snapshots/check.
//
// Rejected: all accounts in every checkpoint. With a million accounts, either checkpoints are so rare that readers read millions of events, or most
// of what the store writes is checkpoints. Also rejected: checkpoints with the accounts' totals instead of what was added to them. To make a
// checkpoint of the few accounts that moved, one would have to read their earlier totals from all over its base. Also rejected: choosing the way by
// an estimate of its cost. The estimate's constants were those of one machine, and it always chose checkpoints where there were any.
package balances
