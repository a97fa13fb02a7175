// Package period closes the books of an organization (a tenant of the service) month by month. It decides which month
// can be closed, and defines the record of a closed month.
//
// Invariants:
//  1. Months are closed in order and without a gap, beginning with the month in which the organization's journal
//     began. The first closing also closes all days before that month. So every day up to the end of the last closed
//     month is closed, and every later day is open.
//  2. A closed month is never opened again, because the state machine of a month has no step for reopening.
//  3. A month can be closed only after its end, and only if no due item of that month or an earlier one is pending.
//  4. The closing's event has the SHA-256 of the trial balance at the month's end by effective date,
//     in the text form that Balance writes. Entries with an effective date in a closed month are refused, so the
//     trial balance and its hash can be computed again at any time.
//  5. The id of a month's record begins with the month's number. So ids are in the order of months, and one seek
//     finds the last closed month.
//
// Callers: posting (refuses entries in closed months), actors/period (closes months), api (shows closed months),
// snapshots (replays closings and hashes).
//
// Rejected: Another design would close a month together with all open months before it. It was not chosen because
// nobody has reviewed the months in between, and no hash records their state, although it would save requests.
package period
