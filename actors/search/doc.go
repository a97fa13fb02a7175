// Package search finds transactions by a text in one of their fields; package ledger/search defines which fields these are. It
// keeps an index of the fields, which is updated in the background from the journal.
//
// Invariants:
//  1. The Index gets the journal's events from actors/follower. Therefore payments neither wait for the index nor write
//     anything for it. Under heavy load the index falls behind, and catches up later.
//  2. Only the last event of a record is indexed. An event is skipped if the view contains a later event of the same record.
//     Therefore a transaction whose last event is at or before the index's position is indexed with its current values. A
//     transaction with a later event is in the tail.
//  3. The tail consists of the events after the index's position. Find reads the transactions of the tail one by one, so a
//     client finds the payment that it has just made.
//  4. Find compares the text with the current record of each candidate. Therefore it never returns a transaction whose
//     hash is equal by chance, or one that only had the text in the past.
//  5. Entries stay in memory until each row to be written would contain many of them, or until there are more than maxUnstored.
//     After all rows, the progress row is written, with the seq up to which all events are indexed. After a crash before that,
//     some events are indexed again, and Find skips duplicates.
//  6. Find reads a bounded number of rows, candidates and events of the tail, and tells its caller whether a bound was reached.
//
// Callers: cmd/mizan (New), api/admin (Find).
//
// Rejected: In another design, rows would be merged in the background, so that Find has to read fewer rows. It was not chosen
// because for a million payments Find reads only about 60 rows, in a tenth of a millisecond, and merging would write each entry
// again.
package search
