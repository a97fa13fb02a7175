// Package clock provides a clock of business time as a value that is passed in, so that every timer can be tested. Business
// time decides when deadlines of payments pass, when tokens expire and when scheduled work is due.
//
// Invariants:
//  1. A clock never goes back, even if the machine's clock does. Otherwise a timer would fire twice, or would wait
//     again for an instant that has passed.
//  2. Times are in UTC and in whole microseconds, which are the resolution of the journal.
//  3. This package is only for business time. Network time-outs are in real time and use Go's package time. The functions of
//     ledger/** do not use a clock; they take the instant as an argument.
//
// Callers: actors, api, cmd/mizan.
//
// Rejected: Another design would have a global variable as the clock. It was not chosen because two servers in one
// test would share it. Only the latest instant of the machine's clock is global, because that clock is shared anyway.
package clock
