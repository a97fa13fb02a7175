// Package subscription decides each step of a recurring payment: when the subscription is renewed, when an unpaid renewal is
// retried, and of which events the merchant is notified. These notifications form a stream of their own (specification,
// "Events").
//
// Invariants:
//  1. The functions that decide are pure. Their input is the record, the command and the current instant. Their output is a
//     changed copy of the record, its events, its next due instant and the notifications.
//  2. All transitions between states are defined by the state machine in machine.go. A table of the transitions is committed as
//     testdata/machine.txt.
//  3. Before an attempt at a renewal charges anything, the attempt's number and the id of its future transaction are stored.
//     The attempts of a subscription are numbered, so each number identifies one transaction.
//  4. Only one renewal is under way at a time, until its outcome is known. While the outcome is unknown, the service keeps
//     asking for it and charges nothing else.
//  5. A subscription can be paused or cancelled while a renewal is under way. The renewal's outcome is then recorded later. The
//     state cancelled is final.
//  6. Periods are counted from the subscription's creation, so neither a late renewal nor a pause moves later renewals. If
//     several renewals are overdue, only one is charged, and the next is due in the future. A pause does not reset the number
//     of failed attempts at an unpaid renewal.
//  7. A notification about an event shows the record just after this event. What changes in a notification comes only from
//     Progress. The record counts the events of which the merchant was notified, and those of which it was not notified because
//     it has no address. These two numbers are stored nowhere else.
//
// Callers: actors/subscription (makes decisions durable); api (shows records); snapshots (replays journals).
//
// Rejected: instead of states for a renewal under way, the record could have a flag beside the states active, past due, paused
// and cancelled. But the journal's events name only states, so a checker could not see from the events whether a renewal began
// while another was under way.
package subscription
