// Package turnover maintains each partner's (merchant's) totals per day, which package ledger/turnover defines. It
// reads durable events from the journal, counts them in memory, and writes the counts to the store from time to time.
//
// Invariants:
//  1. The Counter gets the journal's events from actors/follower. Therefore payments neither wait for counting nor
//     write anything for it. Under heavy load counting falls behind, and catches up later. Every answer says up to
//     which booked time it is complete.
//  2. A stored row (one day of a partner) includes the events up to the row's Seq, which is the number of the last
//     counted event. Later events are counted in memory. A reader adds the row and the counts in memory so that each
//     event is included once, even while rows are being written.
//  3. Rows are written in two cases: if the number of unstored events is at least MinUnstored plus twenty for each
//     row to write, or if there are more than maxDays days of partners in memory. Counts that were not stored before
//     a crash are computed again.
//  4. The progress row contains the number of an event up to which all rows of days are complete, and is written after
//     these rows. After a crash, counting restarts from this event, and skips the events that a day's row already includes.
//
// Callers: cmd/mizan (New), api/payments (Read).
//
// Rejected: In another design the journal's writer would add a row for each group of payments. It was not chosen
// because every start would have to sum all these rows. In a third design each payment would report its figures when
// it becomes durable. It was not chosen because the reports would not arrive in the order of the journal, so a stored
// figure could not say which events it includes. A restart after a crash would have to read the journal anyway.
package turnover
