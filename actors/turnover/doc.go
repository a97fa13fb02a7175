// Package turnover maintains each partner's (merchant's) totals per day, which package ledger/turnover defines. It
// reads durable events from the journal, counts them in memory, and writes the counts to the store from time to time.
//
// Invariants:
//  1. Counting is a consumer of actors/follower, so payments neither wait for it nor write anything for it. Under heavy
//     load counting falls behind, and catches up later. Every answer names the booked time up to which it is complete.
//  2. A stored row (one day of a partner) counts the events up to its Seq, which is the number of the last counted
//     event. The memory counts later events. A reader combines the row and the memory so that each event counts once,
//     even while rows are being written.
//  3. Rows are written in two cases: when the number of unstored events is at least MinUnstored plus twenty for each
//     row to write, or when the memory has more than maxDays days of partners. Events that were not stored before a
//     crash are counted again.
//  4. The progress row has the number of the last event that is counted in the rows of days. It is written after all
//     of these rows. So counting restarts early enough after a crash, and skips the events that a day's row already
//     counts.
//
// Callers: cmd/mizan (New), api/payments (Read).
//
// Rejected: In another design the journal's writer would add a row for each group of payments. It was not chosen
// because every start would have to sum all these rows. In a third design payments would report their figures when
// they become durable. It was not chosen because the reports would arrive in another order than the journal's, so a
// stored figure could not say which events it counts; a restart after a crash would have to read the journal anyway.
package turnover
