// Package search has the fields by which transactions are found, and the rows of the index of these fields.
//
// Invariants:
//  1. The fields are in one table. The index, the comparison of a record with a text, and the checker use this table.
//  2. The index only names candidates: an entry has a hash of a value and the seq (number) of an event. A reader
//     compares the record of the event's transaction with the text, because two values may have the same hash, and
//     because the record may have changed since the event.
//  3. An event has entries only if it is its record's last event when it is indexed. Then it has an entry for each value
//     that the record has in one of the fields. So the last event of each indexed transaction has all entries of the
//     transaction.
//  4. A row has the entries that one flush (writing of the entries in memory) has for one bucket, that is, for the
//     hashes that begin with the same bits. The row's key ends with the seq up to which all events were indexed at the
//     flush, so the entries of later rows are newer. A transaction may have entries in several rows, and the same entry may
//     be in two rows.
//
// Callers: actors/search (writes and reads the index), snapshots/check (compares it with the transactions), api/admin.
//
// Rejected: In another design each transaction would claim its values as keys when it changes. It was not chosen
// because a payment would write several more rows. In a third design a row would have the ids of the transactions. It was not
// chosen because an id takes 16 bytes and a seq two or three.
package search
