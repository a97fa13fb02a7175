// Package balances reads balances of any moment, of one account or of all, by booked time or by
// effective date, and makes the checkpoints from which trial balances start.
//
// A trial balance has two ways to the totals booked by a moment. Both give the same rows.
//
//   - From the pages: each account's last line by then has its totals. The cost is per account.
//     This is for fewer than fewAccounts accounts, and for an organization whose checkpoints are
//     missing or far behind.
//   - From the last checkpoint by then and the events after it. The cost is per event, and the
//     distance between checkpoints bounds it. The sums of those events are kept for the next
//     page of the same trial balance.
//
// A balance by effective date is the one booked by the end of the day, corrected by the lines
// whose booked time and effective day are on different sides of it. The correction is one pass
// over the organization's shifted lines and does not depend on the way.
//
// Invariants:
//  1. A checkpoint never changes a result: a part that does not match its checkpoint's head is
//     not used, and what it would have given is read from the pages.
//  2. The position and the content of a checkpoint follow from the journal alone, so one that is
//     made again equals the lost one.
//  3. Accounts come in the order of their keys, each once, also when the way changes in between.
//  4. A reader holds at most twice maxTurnover accounts in memory and keeps maxKept.
//
// Callers: api/ledger, actors/period, actors/checkpoint, and the tests of snapshots/check.
//
// Rejected: choosing the way by its estimated cost, with the time of a seek and of a page-buffer
// row in events. The constants were those of one machine, and with checkpoints in their places
// the estimate always chose them. A balance row per account and day: it costs a row for each
// account that moves, and can drift from the journal.
package balances
