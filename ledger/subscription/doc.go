// Package subscription decides what happens to a recurring payment: when it is renewed,
// what follows when a renewal is not paid, and of what its merchant is notified
// (specification, "Events", the separate stream).
//
// Invariants:
//  1. Decide functions are pure. Input: record, command and instant. Output: the next record,
//     its events, its next due instant and the notifications. The old record is never changed.
//  2. Only the machine in machine.go names transitions; its report is committed beside it.
//  3. A renewal begins as an intent with a number and the id of its future transaction. Each
//     renewal has the next number, so a number and its subscription name one transaction.
//  4. Only one renewal is under way at a time, and only its outcome ends it. An unknown outcome
//     is inquired again, and nothing else is charged meanwhile.
//  5. Pausing and cancelling do not wait for a renewal under way; its outcome is recorded
//     afterwards. Cancelled is final.
//  6. Periods are counted from the creation, so neither a late renewal nor a pause moves a
//     later one. Missed renewals are not made up for: of several overdue renewals one is charged,
//     and the next one is due in the future. An unpaid renewal keeps its number of attempts over
//     a pause, so an attempt's number is never used again.
//  7. A notification about an event shows the record just after that event; everything in it
//     that can change is in Progress. The record counts the notifications, and the events that
//     had no address for one. These counts are stored nowhere else.
//
// Callers: actors/subscription (makes decisions durable), api (shows records), snapshots
// (replays the machine).
//
// Rejected: the renewal as a flag beside the states active, past due, paused and cancelled. The
// journal's events name states, and a checker could not see in them whether a renewal was
// under way when another one began.
package subscription
