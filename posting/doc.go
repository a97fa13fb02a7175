// Package posting makes changes durable and answers queries about what is stored.
//
// The commit path. Submit puts a Change into a bounded queue. One goroutine, the orderer, takes queued changes and
// makes a group of them (the changes that become durable together), up to its bounds. For each Change the orderer
// checks claims, versions, dates, counters and funds, in that order. After the last check nothing may fail: the orderer
// numbers and dates the events, splits postings that spill over to a second account, updates running totals, appends to
// the hash tree and writes the rows into the group. A second goroutine, the committer, hands the group to the Log (one
// sync) and then acknowledges the group's changes in order. The orderer prepares the next group when this one is
// durable, or earlier if many changes wait. From time to time a third goroutine calls Log.Confirm, which records that
// the last group is durable.
//
// Invariants:
//  1. A Change gets its Receipt only when its group and every earlier group are durable, even if it is
//     refused, because a refusal may be based on another Change of the same group.
//  2. A Change is wholly in one group, and a group is one frame of the log. A Change that
//     no group can hold is refused before it is queued.
//  3. Only commands are refused for lack of space, or for dates, funds or counters. A Change marked
//     MustRecord is refused only if its version is stale or one of its claims is taken.
//  4. Sequences are gap-free, and booked times strictly increase, per organization.
//  5. What the orderer caches (versions, totals, counters, claims) stays cached until the
//     group that set it is durable.
//  6. After an error of the Log nothing more is written or acknowledged.
//  7. Funds guards are checked against the totals after the whole Change, and a counter guard against
//     the counter as the preceding guards of the Change leave it.
//  8. No total overflows: a command is refused if a total is above the lowest quarter of its range, or if the command
//     moves a quarter or more. Outcomes need no such check, because a counter with a bound has counted their amounts in
//     advance.
//  9. A due row lists the records that one group makes due in one second, an item for each. It is removed only when all its items
//     are stale: the item's durable record has another due instant or none, or a later row has an item for the same instant. All
//     items of rows below the low-water mark are stale.
//  10. Only due rows, page-buffer rows, sealed rows and KVs are ever removed.
//  11. Every line of an account and every row of a list is on exactly one stored page or, if it is later than all lines
//     on the stored pages, in the page buffer.
//  12. After a month is closed no entry takes effect in it or before it: if a command chose such a
//     date, the command is refused; any other entry takes effect on the first open day.
//  13. A proof is verified before it is returned.
//  14. A record's row is only written together with its events. The record's last event contains the
//     row's SHA-256; an event also contains the hashes of its notices and of claims with more than an id.
//
// Page buffer. A page is a row with lines of one account or list. If a group's changes have few accounts in common,
// nearly every page would get only one or two new lines, and a row for each page would make 7.1 rows per payment with
// 10,000 partners. So a group writes the lines of sparsely filled pages into one shared row, or into sixteen (shards),
// and flushes a page to a row of its own when the page has 1 KiB of lines or its lines are the oldest in the buffer.
// Readers search the page buffer first; it is bounded in groups and in bytes.
//
// Callers: actors (Submit), api, snapshots and bench (View), posting/balances (View), cmd/mizan
// (Open).
//
// Rejected: a transaction per Change with Badger's own conflict detection. Such a writer syncs once per
// Change, which gives a seventh of the throughput, and leaves the order of acknowledgements, and therefore
// of sequence numbers, to chance.
package posting
