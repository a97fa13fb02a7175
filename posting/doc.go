// Package posting stores changes of the ledger so that they survive a crash, and answers queries about the stored records,
// events and balances. A Change contains the rows, events and entries of one decision. They become durable together.
//
// The commit path. Submit puts a Change into a bounded queue. One goroutine, the orderer, takes changes from the queue and puts
// them into a group of bounded size. A group becomes durable with one sync. For each Change the orderer checks claims,
// versions, dates, counters and funds, in that order. A Change that has passed the checks must not fail any more. The orderer
// then sets the number and the time of each event, splits postings between two accounts (for example between a partner's
// balance and the partner's debt), updates running totals, appends the events to the hash tree, and writes the rows into the
// group. A second goroutine, the committer, hands the group to the Log (one sync) and then acknowledges the group's changes in
// order. The orderer prepares the next group when the previous group is durable, or earlier if many changes wait. From time to
// time a third goroutine calls Log.Confirm, which records which group is the last durable one.
//
// Invariants:
//  1. A Change gets its Receipt only when its group and every earlier group are durable. A refused Change must wait too,
//     because the reason for the refusal may be another Change of the same group.
//  2. A Change is never divided between groups, and a group is one frame (a record with a checksum) of the log. A Change that
//     is too large for any group is refused before it is queued.
//  3. A Change that is not marked MustRecord is a command. Only a command can be refused for lack of disk space or of room in
//     the queue, or because of dates, funds or counters. A Change marked MustRecord is refused only if its version is stale, if
//     one of its claims (reservations of a unique name) is taken, or if it is too large. All changes of an organization are
//     refused while it belongs to another shard or is being moved (ErrElsewhere).
//  4. The sequence numbers of an organization's events have no gaps, and the events' booked times strictly increase.
//  5. A value that the orderer caches (a version, totals, a counter, a claim) stays cached until the
//     group that set it is durable.
//  6. After an error of the Log nothing more is written or acknowledged.
//  7. Guards are limits that the orderer checks. A guard on funds is compared with the account's totals after the whole
//     Change. The guards on counters are applied one after the other. Each that adds to its counter is compared with the
//     counter's resulting amount.
//  8. No total overflows. A command is refused if one of its totals already exceeds a quarter of the range of an amount, or if
//     the command itself moves a quarter of the range or more. A Change that records the outcome of a command needs no such
//     check, because the command has already reserved the amount in a bounded counter ([ledger.ReserveHeadroom]).
//  9. A due row contains an item for each record that one group makes due within one second. The row is removed only when all
//     its items are stale. An item is stale if the stored record has another due instant or none, or if a later row has an item
//     for the same record and instant. The low-water mark is a second: in due rows of earlier seconds, all items are stale.
//  10. Only four kinds of rows are ever removed: due rows, page-buffer rows, sealed rows and KVs (key-value rows that belong to
//     actors).
//  11. Every line of an account (a posting with the totals after it) and every row of a list is stored in exactly one place: on
//     a stored page, or in the page buffer. Lines in the page buffer are later than the lines on stored pages of the same
//     account or list.
//  12. After a month is closed, no entry takes effect in this month or earlier. A command whose user chose such a day is
//     refused. If nobody chose the day of an entry, the entry takes effect on the first open day.
//  13. A proof is verified before it is returned.
//  14. A record's row is only written together with events of the record. The last of these events contains the row's SHA-256.
//     An event also contains the hashes of its notices (rows that ask for a notification), and of claims whose owner is longer
//     than an id.
//
// Page buffer. A page is a row that contains lines of one account or list. If the changes of a group affect different accounts,
// nearly every page gets only one or two new lines. With 10,000 partners, one row for each of these pages would mean 7.1 rows
// per payment. So the new lines of many pages are first written together into a few rows, the page-buffer rows. A page is
// flushed, that is, its lines are written as a row of its own, when it has 1 KiB of lines, or when the buffer is too long and
// the page's lines are the oldest. Readers find the buffered lines in memory (bufferIndex). Both the number of groups with
// buffered lines and the number of buffered bytes are bounded.
//
// Callers: actors (Submit), api, snapshots, bench and posting/balances (View), cmd/mizan (Open).
//
// Rejected: one transaction of Badger (the key-value store) for each Change, with Badger's own conflict detection. Such a
// writer syncs once per Change, so it has a seventh of the throughput. The order of acknowledgements, and therefore of sequence
// numbers, would also be left to chance.
package posting
