// Package clock provides business time as a value that is passed in, so that every timer can be tested.
//
// Invariants:
//  1. A clock never goes back, even if the machine's does: a timer would otherwise
//     fire twice, or wait again for an instant that has passed.
//  2. Times are UTC and whole microseconds, the resolution of the journal.
//  3. Only business time comes from here (deadlines of money, token lifetimes,
//     schedules). Network time-outs are real time and use package time.
//
// Callers: actors, api, cmd/mizan. ledger/** takes the instant as an argument.
// Rejected: a global variable as the clock, because two servers in one test would
// share it. Only the latest instant of the machine's clock is global, because that clock is
// shared anyway.
package clock
