// Package period closes an organization's books month by month: it decides which month can
// be closed, and defines the record of a closed month.
//
// Invariants:
//  1. Months are closed in order and without a gap, beginning with the month in which the
//     organization's journal began. The first closing also closes all days before that month. So
//     every day up to the last closed month's end is closed, and every later day is open.
//  2. A closed month is never opened again: the machine has no step for that.
//  3. A month can be closed only after its end, and only if nothing is due in it any more.
//  4. The closing's event has the SHA-256 of the trial balance by effective date at the
//     month's end, in the text form that Balance writes. Afterwards no entry can be booked
//     into the month, so the same trial balance has the same hash later.
//  5. The id of a month's record follows from the month's number. Ids are in the order of
//     months, so one seek finds the last closed month.
//
// Callers: posting (refuses entries in closed months), actors/period (closes months), api (shows
// them), snapshots (replays the machine and the hash).
//
// Rejected: closing a month together with all open months before it. That saves requests,
// but nobody has reviewed the months in between, and no hash records their state.
package period
