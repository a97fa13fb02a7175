// Package search finds transactions by the fields of package ledger/search. It keeps an index of them, which follows the journal
// in the background.
//
// Invariants:
//  1. The Index is a consumer of actors/follower, so payments neither wait for it nor write anything for it. Under heavy
//     load the index falls behind, and catches up later.
//  2. An event is indexed only if it is its record's last event in the view; otherwise a later event of the record is indexed. So
//     a transaction whose last event is at or before the index's position is in the index as it is stored now. A transaction with
//     a later event is in the tail.
//  3. The tail has the events after the index's position. Find reads the transactions of the tail one by one, so a client finds
//     the payment that it has just made.
//  4. Find compares the present record of each candidate with the text. So neither a collision of hashes nor a value that
//     a record no longer has is a result.
//  5. Entries are in memory until there are many for each row to write, or more than maxUnstored. The progress row, with the seq up to which all events are indexed, is written after all rows. After
//     a crash before that, events are indexed again, and Find skips what it finds twice.
//  6. Find reads a bounded number of rows, candidates and events of the tail. It says whether a bound was reached.
//
// Callers: cmd/mizan (New), api/admin (Find).
//
// Rejected: In another design, rows would be merged in the background, so that Find reads fewer. It was not chosen because Find
// reads about 60 rows of a million payments in a tenth of a millisecond, and merging would write each entry again.
package search
