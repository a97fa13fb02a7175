// Package balances reads balances of any moment, of one account or of all, by booked time or by
// effective date, and makes the checkpoints from which trial balances start.
//
// There are two ways to compute the totals booked by a moment for a trial balance. Both give the same
// rows.
//
//   - From the pages, the rows with accounts' lines: an account's last line by then has its totals. The cost is
//     proportional to the number of accounts that are read. This way is used for fewer than fewAccounts accounts, and
//     for an organization whose checkpoints are missing or far behind.
//   - From the last checkpoint by then and the events after it. A checkpoint has what the events since its base, an
//     earlier checkpoint, moved, so the totals are the sum over the checkpoint, its base, the base's base and so on. The
//     cost is proportional to the number of accounts that are read and of the events after the checkpoint, which the
//     distance between checkpoints bounds. The sums of these events are cached, because a caller may read the same
//     trial balance page by page.
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
//  4. A reader holds at most twice maxTurnover accounts in memory while it reads, and one row of each height of at most
//     maxChain checkpoints. It caches at most maxKept accounts afterwards. The maker of a checkpoint holds no more.
//  5. Each checkpoint has more than twice as many accounts as any that rests on it. So a chain is short, all its
//     checkpoints together have less than twice as many accounts as its last one, and an account is written again
//     only when it is merged into a much longer checkpoint.
//
// Callers: api/ledger, actors/period, actors/checkpoint, and the tests of snapshots/check.
//
// Rejected: all accounts in every checkpoint. With a million accounts, either checkpoints are so rare that readers read
// millions of events, or most of what the store writes is checkpoints. Also rejected: the accounts' totals instead of what was added to them; a checkpoint of
// the few accounts that moved would need the totals of each before, from all over its base. Also rejected: choosing the
// way by an estimate of its cost. The estimate's constants were those of one machine, and it always chose checkpoints
// where there were any.
package balances
