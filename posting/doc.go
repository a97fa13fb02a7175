// Package posting makes changes durable and answers queries about what is stored.
//
// The commit path. Submit puts a Change into a bounded queue. One goroutine, the orderer,
// takes the queued changes up to a group's bounds. For each it checks claims, versions,
// dates, counters and funds, in that order. After the last check nothing may fail: it
// numbers and dates the events, splits postings that spill, updates running totals, appends
// to the hash tree and writes the rows into the group. A second goroutine, the committer,
// hands the group to the Log (one transaction, one sync, then HEAD) and then acknowledges
// its changes in order. While it waits for the disk the orderer prepares the next group.
//
// Invariants:
//  1. A Receipt is given only when every group up to its Change's own is durable. That includes
//     refusals, because a refusal may be based on a Change of the same group.
//  2. A Change is wholly in one group, and a group is one Badger transaction. A Change that
//     no group can hold is refused before it is queued.
//  3. Only commands are refused for lack of space, or for dates, funds or counters. A Change marked
//     Outcome is refused only if its version is stale or one of its claims is taken.
//  4. Sequences are gap-free, and booked times strictly increase, per organization.
//  5. What the orderer caches (versions, totals, counters, claims) stays cached until the
//     group that set it is durable.
//  6. After an error of the Log nothing more is written or acknowledged.
//  7. All guards of a Change are checked against the state after the whole Change.
//  8. No total overflows: a command may begin only with totals in the lowest quarter of
//     their range and moves less than a quarter; its intent counts what outcomes may move.
//  9. A due row (the records that are due in one second) is removed only when it is below the low-water
//     mark: all its items have been handed out, and their records have a later due instant or none.
//  10. Only due rows, page-buffer rows, sealed rows and KVs are ever removed.
//  11. Every line of an account and every row of a list is on exactly one stored page, or in
//     the page buffer, after the lines of all its stored pages.
//  12. After a month is closed no entry takes effect in it or before it: if a command chose such a
//     date, the command is refused; any other entry takes effect on the first open day.
//  13. A proof is verified before it is returned.
//  14. A record's row is only written together with its events. The record's last event contains the
//     row's SHA-256; an event also contains the hashes of its notices and of claims with data.
//
// Page buffer. If a group's changes have few accounts in common, nearly every page would get only one
// or two new lines, and a row for each page would make 7.1 rows per payment with 10,000 partners. So a
// group writes the lines of sparsely filled pages into one row, or sixteen shards, and flushes a page
// when it has 1 KiB of lines or its lines are the oldest. Readers search the page buffer first; it is
// bounded in groups and in bytes.
//
// Callers: actors (Submit), api, snapshots and bench (View), posting/balances (View), cmd/mizan
// (Open).
//
// Rejected: a transaction per Change with Badger's own conflict detection. It syncs once per Change,
// which gives a seventh of the throughput, and leaves the order of acknowledgements, and therefore of
// sequence numbers, to chance.
package posting
