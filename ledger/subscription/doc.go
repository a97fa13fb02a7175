// Package subscription decides what happens to a recurring payment: when it is
// renewed, what becomes of it when a renewal is not paid, and what its merchant
// is told (specification, "Events", the separate stream).
//
// Invariants:
//  1. Decide functions are pure: record, command and instant in; the next record,
//     its events, the instant it wants to be woken and what is told out. The
//     record decided on is never changed.
//  2. The machine in machine.go is the only place that names a transition; its
//     report is committed beside it.
//  3. A renewal is an intent first, with a number and the id of the transaction
//     that it is to be. Numbers rise by one a renewal and are never used again,
//     so a number and its subscription name one transaction for ever.
//  4. One renewal is under way at a time. Only what became of it ends it: what is
//     not known is asked again, and nothing else is charged meanwhile.
//  5. Pausing and cancelling are never kept waiting by a renewal under way; what
//     becomes of it is written down afterwards. Cancelled is final.
//  6. Periods are counted from the first instant at which the subscription was to
//     be renewed, so that a late renewal moves no later one, and no pause does. What
//     was missed is not made up for: one renewal, and then the first one that is still
//     to come. A renewal that was not paid stays the same one, with its attempts, over a
//     pause: an attempt's number is never used again for it.
//  7. What is told of an event is what the record says just after that event, and
//     all of it that ever changes is in Standing. The record counts how many were told,
//     and how many there was nobody to tell of: nothing else remembers it.
//
// Callers: actors/subscription (which makes decisions durable), api (which shows
// records), snapshots (which replays the machine).
//
// Rejected: the renewal as a flag beside the states active, past due, paused and
// cancelled. The journal's events name states, and a checker could not see in
// them whether a renewal was under way when another one began.
package subscription
