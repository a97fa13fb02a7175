// Package period closes the books of an organization (a tenant of the service) month by month. It decides which month
// can be closed, and defines the record of a closed month.
//
// Invariants:
//  1. Months are closed in order and without a gap, beginning with the month in which the organization's journal began.
//     When the first month is closed, all days before it are closed too. So every day up to the end of the last closed
//     month is closed, and every later day is open.
//  2. A closed month is never opened again, because the state machine of a month has no step for reopening.
//  3. A month can be closed only after its end, and only if no item that was due in it, or in an earlier month, is still
//     pending.
//  4. The event that closes a month contains the SHA-256 hash of the month's trial balance, in the text form that
//     BalanceHasher defines. The trial balance includes all entries whose effective date is not after the month's end.
//     Entries with an effective date in a closed month are refused, so the same trial balance and hash can be computed at
//     any later time.
//  5. The id of a month's record begins with the month's number. So the ids sort by month, and one seek in the store
//     finds the last closed month.
//
// Callers: posting (refuses entries in closed months), actors/period (closes months), api (shows closed months),
// snapshots (replays closings and hashes).
//
// Rejected: closing a month together with all open months before it. This would save requests, but nobody would have
// reviewed the months in between, and no hash would record their state.
package period
