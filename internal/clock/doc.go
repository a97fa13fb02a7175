// Package clock provides clocks for business time. A clock is a value that is passed to its users, so that tests can control
// every timer. Business time decides when deadlines of payments pass, when tokens expire and when scheduled work is due.
//
// Invariants:
//  1. A clock never goes back, even if the machine's clock does. Otherwise a timer could fire twice, or could wait again for an
//     instant that has passed.
//  2. Times are in UTC and in whole microseconds, which are the resolution of the journal.
//  3. This package is only for business time. Network time-outs are in real time and use Go's package time. The functions of
//     ledger/** do not use a clock; they take the instant as an argument.
//
// Callers: actors, api, cmd/mizan.
//
// Rejected: A global variable as the clock was considered. It was not chosen because two servers in one test would share the
// variable. Only the latest instant of the machine's clock is a global variable, because the whole process shares that clock
// anyway.
package clock
