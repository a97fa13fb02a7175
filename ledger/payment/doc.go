// Package payment decides what happens to a transaction: payments and payouts,
// from the request to the last state, with the entries that each step books.
//
// Invariants:
//  1. Decide functions are pure: record, command and instant in; the next
//     record, its events, guards, the instant it wants to be woken and what is
//     to be asked of the provider out. The record decided on is never changed.
//  2. The machine in machine.go is the only place that names a transition; its
//     report is committed beside it.
//  3. An event that moves money carries an entry whose template is in
//     postings.go; amounts are floored, and the remainder has a named owner.
//  4. What is reserved (the headroom counters) is what living and settled
//     transactions need, neither more nor less, and no total is above it.
//     The same holds of volumes (volume.go): a limit's two counters are the sums
//     of the amounts that are under way or settled, and of those that settled.
//     The record names each volume as long as it counts, so that what is given
//     back goes where it was taken from, whatever day it is and whatever became
//     of the limit. Money that came too late is in suspense and counts nowhere.
//  5. One operation on a charge at a time; while it is under way its own answer
//     decides, and what is not known is inquired, never assumed.
//  6. No card number and no verification value is ever part of a record, and of a
//     provider's token only what its keeper has sealed.
//
// Callers: actors/payment (which makes decisions durable), api (which shows
// records), actors/alerts (which counts outcomes), snapshots (which replays the machine).
//
// Rejected: one function a status. The table reads like the specification's own.
package payment
