// Package balances reads balances of any moment, of one account or of all, by booked time or by
// effective date, and makes the checkpoints from which trial balances start.
//
// There are two ways to compute the totals booked by a moment for a trial balance. Both give the same
// rows.
//
//   - From the pages, the rows with accounts' lines: an account's last line by then has its totals. The cost is
//     proportional to the number of accounts. This way is used for fewer than fewAccounts accounts, and
//     for an organization whose checkpoints are missing or far behind.
//   - From the last checkpoint by then (all accounts' totals after one event) and the events after it. The
//     cost is proportional to the number of those events, which the distance between checkpoints bounds.
//     Their sums are cached, because a caller may read the same trial balance page by page.
//
// A balance by effective date is the balance booked by the end of the day, corrected by the lines whose
// booked time and effective day are on different sides of that instant. The correction takes one pass
// over the organization's shifted lines (those whose effective day is not their booked day), and is the same for
// both ways.
//
// Invariants:
//  1. A checkpoint never changes a result: a part that does not match its checkpoint's head is not
//     used, and the totals of the part's accounts are read from the pages.
//  2. The position and the content of a checkpoint follow from the journal alone, so a rebuilt
//     checkpoint equals the lost one.
//  3. Accounts come in the order of their keys, each once, even if the reader changes from one way to
//     the other in between.
//  4. A reader holds at most twice maxTurnover accounts in memory while it reads, and caches at most
//     maxKept afterwards.
//
// Callers: api/ledger, actors/period, actors/checkpoint, and the tests of snapshots/check.
//
// Rejected: choosing the way by an estimate of its cost. The estimate's constants were those of one machine, and
// it always chose checkpoints where there were any. Also rejected: a balance row per account and day. It costs
// a row for each account that moves, and can drift from the journal.
package balances
