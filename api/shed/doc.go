// Package shed bounds how long commands (requests that write) wait for the service itself, and
// refuses those that would wait longer: it sheds load by the age of the queue's oldest command.
//
// A fixed number of commands is in service at once, enough to keep the machine busy; each of them
// has a place. The others wait in one queue, first in, first out. A command that has waited MaxAge without getting a
// place is shed: nothing was done for it. If the queue has not been empty for MaxAge, more
// commands arrive than the service can handle, and long waits do not help. The bound is then
// StandingAge, so that accepted commands are answered soon under any load. A short burst is
// not shed.
//
// Invariants:
//  1. A command is accepted within MaxAge of its Enter, or shed.
//  2. No command overtakes one that waits.
//  3. A command that waits for a provider leaves its place to another command; ProviderCalls
//     returns how many such commands there are. Any other command leaves its place to another one
//     after Lapse, which is longer than any work of the service itself.
//  4. The number of refusals a second is bounded; further commands that are to be refused wait. A
//     refusal costs a third of a command's work, so clients that retry at once would otherwise take
//     the machine from accepted commands.
//
// Callers: api, around commands. Reads and health checks don't pass through it.
//
// Rejected: a bound on the queue's length, which is not a bound on time: with a slower disk the
// same length takes ten times as long. Rejected: to serve the newest command first. That answers
// sooner, but lets a client's later command overtake an earlier one. Rejected:
// golang.org/x/sync/semaphore, which does not know how long a waiter has waited.
package shed
