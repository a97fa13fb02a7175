// Package posting makes changes durable and answers questions about what is.
//
// The commit path, in prose. Submit puts a Change into a bounded queue. One
// goroutine, the orderer, takes what is there, up to a group's bounds, and for
// each Change checks claims, versions, dates, counters and funds in that order; after
// the last check nothing may fail: it numbers the events, dates them, splits
// postings that spill, updates running totals, appends to the hash tree and
// writes the rows into the group. Notices of its events go onto the group's page of
// notices. A second goroutine, the committer, hands the
// group to the Log (one transaction, one sync, then HEAD) and then acknowledges
// every Change of the group in order. While the committer waits for the disk the
// orderer prepares the next group.
//
// Invariants:
//  1. Nothing is acknowledged, refusals included, before every group up to its
//     own is durable: a refusal may rest on a Change of the same group.
//     A Change is its submitter's again when it is answered.
//  2. A Change is wholly in one group; a group is one Badger transaction. What
//     no group can hold is refused before it is queued.
//  3. Only commands are refused for room, funds or counters. A Change marked
//     Outcome is refused only for its version, or a claim if it takes one.
//  4. Sequences are gap-free and booked times strictly rise per organization.
//  5. What the orderer remembers (versions, totals, counters, claims) is never
//     dropped before the group that set it is durable.
//  6. After an error of the Log nothing more is written or acknowledged.
//  7. The guards of a Change are judged together, on what all of it would leave.
//     A command begins with totals in the lower quarter of their range and moves
//     less than a quarter; outcomes are in range because their intents counted
//     them in the headroom.
//  8. Nothing falls due below the low-water mark, and no due row is removed, unless
//     everything below the mark has been handed out and its record has moved on.
//  9. What is sealed beside a record is in its one sealed row and in no event. But
//     for these, due rows, daybook rows and KVs with the pages of notices
//     nothing that was written is ever removed.
//  10. Every line of an account and every row of a list is on one stored page, or
//     after all of its stored pages in the daybook. Daybook rows are removed with the
//     group that has put the last of their lines on a page, or with a later one.
//  11. Nothing that is ordered after a month's closing takes effect in that month, or
//     before it; and the closing's trial balance has everything ordered before it that
//     does. Of what a command dated itself this is a refusal, of all else the first
//     open day.
//  12. A proof that is handed out leads to its root, and to the head's where it is of
//     the head: it was checked as its receiver will. It reads at most about twice as many
//     rows as the tree has levels.
//  13. A record's row is written with its events and never without, and the last of them
//     has its SHA-256, late fields, long payload and sealed row included; so have events
//     that of their notices, and of claims that hold more than an id.
//
// Daybooks. A group whose changes have few accounts in common would write a row
// for every page of two lines: 7.1 rows a payment over 10,000 partners. So what a
// group has for pages of few lines goes into its daybook together, and to its page
// when 1 KiB has gathered, or when the group is the oldest of so many. Readers look
// through the daybook first; what it holds is bounded, in groups and in bytes.
//
// Checkpoints. A trial balance of all accounts would look up each one's pages, and all
// of the daybook: 37 µs an account. A checkpoint has all accounts with their totals
// after one event, in KVs of actors/checkpoint, and what was
// booked since is read in the journal, at 0.7 µs an event. The rows follow from the
// journal alone. Readers use only what is as its head says, and pages for the rest.
//
// Balances after entries. The lines of a page of entries are looked for together: in the
// daybooks of the groups that may have booked them, which their times tell, and then on
// the pages of each account. One after the other, each would read its account's page, and
// a few of them all of the daybook: 1.1 ms an entry.
//
// Callers: actors (Submit), api, snapshots and bench (View), cmd/mizan (Open).
//
// Rejected: a transaction per Change with Badger's own conflict detection. It
// syncs once per Change (a seventh of the throughput) and leaves the order of
// acknowledgements, and so of sequence numbers, to chance.
package posting
