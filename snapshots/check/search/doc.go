// Package search checks the index by which transactions are found, which is a part of rule 4 of the checker (package
// check). The package makes the entries of each transaction again and compares them with the stored rows.
//
// Invariants:
//  1. The progress row names the seq (the number of an event) up to which the server has indexed all events. A transaction whose
//     last event is at or before this seq has an entry for each of its values at that event. Later events may be missing, because
//     the server indexes when it has time.
//  2. Each entry names an event of a transaction. If this is the transaction's last event, the entry has the hash of a value of the
//     transaction. The hashes of other entries are not checked, because the record was different then. A wrong one is
//     harmless: the server compares each transaction that an entry names with the text, and finds the transaction by its
//     last event.
//  3. Memory holds 16 bytes for each value of a transaction, and two bits for each event, in organizations that have an index.
//
// Callers: snapshots/check, which passes the events and transactions to the package.
//
// Rejected: another design would check only a sample of the transactions. It was not chosen because the checker would miss
// most changes of a row, and holds more than this in memory for each record anyway.
package search
