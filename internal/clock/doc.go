// Package clock passes business time in, so that every timer can be tested.
//
// Invariants:
//  1. A clock never goes back, also where the machine's does: what has seen an
//     instant pass would wait for it, or run, for ever.
//  2. Times are UTC and whole microseconds, the resolution of the journal.
//  3. Only business time comes from here (deadlines of money, token lifetimes,
//     schedules). Network time-outs are real time and use package time.
//
// Callers: actors, api, cmd/mizan. ledger/** takes the instant as an argument.
// Rejected: a global variable as the clock, because two servers in one test would
// share it. What is global is how far the machine's time has come, which they share.
package clock
