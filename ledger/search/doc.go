// Package search defines the fields by which a transaction can be found, and the rows in which the index of these fields is
// stored.
//
// Invariants:
//  1. One table defines the fields. The same table is used to write the index, to compare a record with a searched text, and to
//     check the index.
//  2. The index finds only candidates. An entry consists of the hash of a value and the seq (number) of an event. The searcher
//     must compare the record of that event's transaction with the searched text, because two values may have the same hash,
//     and because the record may have changed since the event.
//  3. When an event is indexed, it gets entries only if it is still the last event of its record: one entry for each value that
//     the record has in the fields. So the entries of an indexed transaction's last event cover all its values.
//  4. Entries are collected in memory and written from time to time, which is called a flush. A row has entries of one flush
//     and one bucket. A bucket is the set of hashes that begin with the same bits. The key of a row contains the seq of the
//     last event that was indexed at the flush, so a row of a later flush has a greater key. A transaction may have entries in
//     several rows, and the same entry may be in two rows.
//
// Callers: actors/search (writes and reads the index), snapshots/check (compares it with the transactions), api/admin.
//
// Rejected: Each change of a transaction could write its values as keys of the store, but then a payment would write several
// more rows. The rows of the index could contain ids of transactions instead of seqs, but an id takes 16 bytes and a seq two or
// three.
package search
