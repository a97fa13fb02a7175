// Package subscription decides each step of a recurring payment: when it is renewed, when an unpaid renewal is
// retried, and which events the merchant is notified of. These notifications are a separate stream
// (specification, "Events").
//
// Invariants:
//  1. Decide functions are pure. The input is the record, the command and the instant. The output is the next
//     record, its events, its next due instant and the notifications. The old record is never changed.
//  2. Only the state machine in machine.go names transitions. Its report, a table of them, is committed as
//     testdata/machine.txt.
//  3. An attempt at a renewal begins as an intent: before the charge, its number and the id of its future
//     transaction are stored. A subscription numbers all its attempts, so each number names one transaction.
//  4. Only one renewal is under way at a time, and only its outcome ends it. While the outcome is unknown,
//     inquiries are repeated and nothing else is charged.
//  5. Pausing and cancelling do not wait for a renewal under way. The renewal's outcome is recorded afterwards.
//     The state cancelled is final.
//  6. Periods are counted from the creation, so neither a late renewal nor a pause moves later renewals. Missed
//     renewals are not made up for: only one of several overdue renewals is charged, and the next one is due in
//     the future. A pause does not reset the count of failed attempts at an unpaid renewal.
//  7. A notification about an event shows the record just after this event. Its changing data come from
//     Progress alone. The record has two counts of events: with a notification, and without one for lack of an
//     address. The counts are stored nowhere else.
//
// Callers: actors/subscription (makes decisions durable); api (shows records); snapshots (replays journals).
//
// Rejected: A flag for a renewal under way, beside the states active, past due, paused and cancelled, was
// considered; it was not chosen because the journal's events name only states, so that a checker could not see
// from the events whether a renewal began while another one was under way.
package subscription
