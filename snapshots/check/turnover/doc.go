// Package turnover checks the daily figures of partners (merchants), which is a part of rule 2 of the checker
// (package check). A stored row has the figures of one partner on one day. The package computes the figures again
// from the events of transactions and compares them with the rows.
//
// Invariants:
//  1. A row covers exactly the events of its day up to the seq (the number of an event) that the row names. A further
//     row, the progress row, names the seq up to which the server has counted all events, so each event up to this
//     seq is in a row. Later events may be missing, because the server counts when it has time.
//  2. Memory holds the figures of one day only. Events are in the order of days, so a day is compared when the next
//     day begins.
//
// Callers: snapshots/check, which passes the events to the package.
//
// Rejected: another design would count while the records are read. It was not chosen because records are in another
// order, so the figures of all days would have to be in memory.
package turnover
