// Package subscription decides what happens to a recurring payment: when it is renewed,
// what follows when a renewal is not paid, and which events its merchant is notified of (the separate
// stream of notifications in the specification, "Events").
//
// Invariants:
//  1. Decide functions are pure. Input: record, command and instant. Output: the next record,
//     its events, its next due instant and the notifications. The old record is never changed.
//  2. Only the state machine in machine.go names transitions; its report, a table of them, is committed
//     as testdata/machine.txt.
//  3. An attempt at a renewal begins as an intent: before the charge, its number and the id of its future
//     transaction are stored. A subscription numbers all its attempts, so each number names one transaction.
//  4. Only one renewal is under way at a time, and only its outcome ends it. While the outcome is unknown,
//     inquiries about it are repeated and nothing else is charged.
//  5. Pausing and cancelling do not wait for a renewal under way; its outcome is recorded
//     afterwards. Cancelled is final.
//  6. Periods are counted from the creation, so neither a late renewal nor a pause moves later
//     renewals. Missed renewals are not made up for: only one of several overdue renewals is charged,
//     and the next one is due in the future. A pause does not reset the count of failed attempts at an unpaid
//     renewal.
//  7. A notification about an event shows the record just after that event; Progress has everything that
//     a notification shows and that can change. The record counts the events that were notified, and those that
//     were not because there was no address. These counts are stored nowhere else.
//
// Callers: actors/subscription (makes decisions durable), api (shows records), snapshots
// (replays journals with the machine).
//
// Rejected: a flag for a renewal under way, beside the states active, past due, paused and cancelled. The
// journal's events name only states, so a checker could not see from them whether one renewal was
// under way when another one began.
package subscription
