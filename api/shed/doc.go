// Package shed bounds how long commands wait for the service itself, and refuses those
// that would wait longer: load shedding by the age of the queue's head.
//
// As many commands are in service at once as keep the machine busy. The rest waits in one
// queue, first in, first out. A command that has waited MaxAge without a place is shed:
// nothing was done for it. Where the queue has not been empty for MaxAge, there is more
// to do than can be done, and waiting helps no one: the bound is StandingAge then, so
// that what is accepted is answered soon whatever the load. A burst is let through.
//
// Invariants:
//  1. A command is accepted within MaxAge of its Enter, or shed.
//  2. No command overtakes: one that comes while others wait, waits behind them.
//  3. A command that waits for a provider takes no place from others: ProviderCalls says how
//     many do, and a place lapses after Lapse, which no work of the service itself takes.
//  4. No more than so many are refused in a second, and the rest waits for that. To refuse
//     costs a third of what a command does: clients that ask again at once would take the
//     machine from what is accepted.
//
// Callers: api, around commands. Reads and health checks don't pass through it.
//
// Rejected: a bound for the queue's length, which says nothing about time: a slower disk
// makes the same length ten times as long. Newest first, which answers sooner but lets a
// client's earlier command be overtaken by a later one. golang.org/x/sync/semaphore, which
// has no age.
package shed
