// Package reconciliation compares the settlement reports of a payment provider with the ledger. It says what a line of a report
// is, matches lines with entries on the provider's account (A:provider:{terminal}), defines the differences that are left, and
// builds the entries of the decisions that settle differences.
//
// Invariants:
//  1. An import posts nothing. Only a decision posts, with one of the templates in decide.go, and each difference is
//     decided once; only a decision to wait leaves it open, and only money in transit has a later second step (arrived).
//  2. A line is identified by the provider's id or, without one, by the hash of its content and its ordinal among the equal
//     lines of its file. It is booked at most once per terminal: a claim (a unique key in the store) has its report. A second
//     one is a difference of kind duplicate.
//  3. An entry is matched with at most one line, or explained by at most one decision, over all reports: a claim has its
//     owner.
//  4. The rules of matching are data (Rules), and are applied in their order. First every line looks for an entry of its reference
//     and exact amount, then the rest for the only entry of its reference, then the lines without a reference for an entry of
//     their amount and day. So no line without a reference takes the entry that another line of the file names.
//  5. A counter has the number of open differences of each terminal and day, and one the number of unfinished imports of
//     each terminal. The journal's writer refuses to close a day while one of them is above zero.
//  6. Once a day is closed, a later line of this day, even a matched one, is a difference of the day on which it came in.
//
// Callers: actors/reconciliation (imports, decides, closes), api/reconciliation (shows), snapshots/check/reconciliation
// (verifies), cmd/mizan/client (help texts).
//
// Rejected: matching inside SQL-like queries on indexes by reference. An import reads the account's lines of its days once
// instead, so payments need no additional index, and 100,000 lines need no 100,000 lookups.
package reconciliation
