// Package turnover checks the stored daily turnover of partners (merchants), a part of rule 2 of the checker (package
// check). A stored row holds the figures of one partner for one day. The package recomputes the figures from the events
// of transactions and compares them with the rows.
//
// Invariants:
//  1. A row names a seq (the number of an event), and its figures cover exactly the events of its day up to this seq. A
//     further row, the progress row, names the seq up to which the server has counted all events. Every event up to
//     this seq must be covered by a row. Later events may be missing, because the server counts when it has time.
//  2. Memory holds the figures of only one day. Events are read in the order of days, so the figures of a day are
//     compared when the next day begins.
//
// Callers: snapshots/check, which passes the events to the package.
//
// Rejected: another design would count while the records are read. It was not chosen because records are not in the
// order of days, so memory would have to hold the figures of all days.
package turnover
