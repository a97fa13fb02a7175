// Package search checks the index with which the server finds transactions, a part of rule 4 of the checker (package check).
// For each transaction, the package recomputes the index entries and compares them with the stored rows.
//
// Invariants:
//  1. The progress row names the seq (the number of an event) up to which the server has indexed all events. If the last event
//     of a transaction is at or before this seq, the index has an entry for each value of the transaction as of its last event.
//     Entries for later events may be missing, because the server indexes when it has time.
//  2. Each entry names an event of a transaction. If the event is the transaction's last one, the entry has the hash of one of
//     the transaction's values. If it is an earlier event, the hash is not checked, because the record had other values then. A
//     wrong hash of an earlier event is harmless: the server finds the transaction by its last event, and compares each
//     transaction that an entry names with the searched text.
//  3. For an organization with an index, memory holds 16 bytes for each value of a transaction, and two bits for each event.
//
// Callers: snapshots/check, which passes the events and transactions to the package.
//
// Rejected: another design would check only a sample of the transactions. It was not chosen because it would miss most wrong
// rows. It would save little memory, because the checker holds more data than this for each record anyway.
package search
