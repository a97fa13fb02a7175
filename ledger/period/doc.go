// Package period closes an organization's books month by month: which month can be
// closed, and what is written of it.
//
// Invariants:
//  1. Months are closed one after the other, without a gap, beginning with the one in
//     which the organization's journal began. The first also closes all days before
//     it. So what is closed is one day: everything up to it, and nothing after it.
//  2. A closed month is never opened again: the machine has no step for it.
//  3. Only a month that has ended, and in which nothing is due any more, is closed.
//  4. The closing's event carries the SHA-256 of the trial balance by effective date
//     at the month's end, in the text form that Balance writes. Nobody can book into
//     the month afterwards, so whoever asks for that trial balance later computes the
//     same hash.
//  5. A month's record has the id that the month's number makes. Ids are in the order
//     of months, so that the last closed one is found by one seek.
//
// Callers: posting (which keeps closed months closed), actors/period (which closes
// them), api (which shows them), snapshots (which replays the machine and the hash).
//
// Rejected: closing a month together with whatever lies open before it. It saves
// requests, but nobody has looked at the months in between, and no hash says what
// they were.
package period
