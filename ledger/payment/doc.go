// Package payment decides what happens to a transaction: payments and payouts,
// from the request to the last state, with the entries that each step books.
//
// Invariants:
//  1. Decide functions are pure: record, command and instant in; the next
//     record, its events, claims, guards and the instant it wants to be woken out.
//  2. The machine in machine.go is the only place that names a transition; its
//     report is committed beside it.
//  3. An event that moves money carries an entry whose template is in
//     postings.go; amounts are floored, and the remainder has a named owner.
//  4. No card number and no verification value is ever part of a record.
//
// Callers: actors/payment (which makes decisions durable), api (which shows
// records), snapshots (which replays the machine).
//
// Rejected: one function a status. The table reads like the specification's own.
package payment
