// Package posting stores changes of the ledger so that they survive a crash, and answers queries about the stored
// records, events and balances. A Change has the rows, events and entries of one decision, which become durable
// together.
//
// The commit path. Submit puts a Change into a bounded queue. One goroutine, the orderer, takes queued changes and puts them
// into a group, which becomes durable with one sync. The size of a group is bounded. For each Change the orderer checks
// claims, versions, dates, counters and funds, in that order. After the last check nothing may fail: the orderer sets each
// event's number and time, splits postings between two accounts (for example between a partner's balance and the partner's
// debt), updates running totals, appends the events to the hash tree, and writes the rows into the group. A second goroutine,
// the committer, hands the group to the Log (one sync) and then acknowledges the group's changes in order. The orderer
// prepares the next group when the previous one is durable, or earlier if many changes wait. From time to time a third
// goroutine calls Log.Confirm, which records that the last group is durable.
//
// Invariants:
//  1. A Change gets its Receipt only when its group and every earlier group are durable. This holds for
//     a refused Change too, because the refusal may be based on another Change of the same group.
//  2. A Change is wholly in one group, and a group is one frame (a record with a checksum) of the log. A Change that
//     no group can hold is refused before it is queued.
//  3. Only commands are refused because of the disk space, dates, funds or counters. A command is a Change that is not marked
//     MustRecord. A Change marked MustRecord is refused only if its version is stale or one of its claims (reservations of a
//     unique name) is taken.
//  4. An organization's sequence numbers have no gaps, and its booked times strictly increase.
//  5. A value that the orderer caches (a version, totals, a counter, a claim) stays cached until the
//     group that set it is durable.
//  6. After an error of the Log nothing more is written or acknowledged.
//  7. A guard on funds is checked against the totals after the whole Change. A guard on a counter is checked against
//     the counter's amount after the preceding guards of the Change.
//  8. No total overflows: a command is refused if a total is above the lowest quarter of its range, or if the command
//     moves a quarter or more. Outcomes need no such check, because a bounded counter ([ledger.Headroom]) has reserved
//     their amounts in advance.
//  9. A due row has an item for each record that one group makes due within one second. The row is removed only when all its
//     items are stale. An item is stale if its record, as it is stored, has another due instant or none, or if a later row
//     has an item for the same record and instant. The low-water mark is a second before which all items of all due rows are
//     stale.
//  10. Only four kinds of rows are ever removed: due rows, page-buffer rows, sealed rows and KVs (rows of key and value that
//     belong to actors).
//  11. Every line of an account (a posting with the totals after it) and every row of a list is in exactly one place: on a
//     stored page or, if it is later than all lines on the stored pages, in the page buffer.
//  12. After a month is closed, no entry takes effect in the month or before it. A command that chose such a
//     date is refused; any other entry takes effect on the first open day.
//  13. A proof is verified before it is returned.
//  14. A record's row is only written together with its events. The record's last event contains the row's SHA-256.
//     An event also contains the hashes of its notices (rows that ask for a notification), and of claims whose owner
//     is longer than an id.
//
// Page buffer. A page is a row with lines of one account or list. If a group's changes have few accounts in common, nearly
// every page gets only one or two new lines. With 10,000 partners, a row for each of these pages would make 7.1 rows per
// payment. So a group writes the lines of pages with few lines into rows that these pages share, the page-buffer rows. A page
// is flushed to a row of its own when it has 1 KiB of lines, or when its lines are the oldest in the buffer and the buffer is
// too long. Readers find the buffered lines in memory (bufferIndex). The number of groups with buffered lines is bounded, and
// so is the number of bytes.
//
// Callers: actors (Submit), api, snapshots, bench and posting/balances (View), cmd/mizan (Open).
//
// Rejected: another design would give each Change a transaction of Badger (the key-value store) with Badger's own
// conflict detection. It was not chosen because such a writer syncs once per Change, and has a seventh of the
// throughput. The order of acknowledgements, and therefore of sequence numbers, would also be left to chance.
package posting
