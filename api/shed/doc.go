// Package shed bounds how long commands (requests that write) wait for the service itself. A command that would wait
// longer is shed (refused). The age of the oldest waiting command decides, and reads and health checks are exempt.
//
// A fixed number of commands is in service at once, enough to keep the machine busy; each of them
// has a place. The others wait in one queue, first in, first out. A command that has waited MaxAge without getting a
// place is shed: nothing was done for it. If the queue has not been empty for MaxAge, more
// commands arrive than the service can handle, and long waits do not help. The bound is then
// StandingAge, so that accepted commands are answered soon under any load. A short burst is
// not shed.
//
// Invariants:
//  1. A command is accepted or shed within MaxAge of its Enter.
//  2. No command overtakes a waiting command.
//  3. A command that waits for a provider leaves its place to another command; ProviderCalls returns the number of
//     such commands. Any other command leaves its place to another one after PlaceTimeout, which is longer than any
//     work of the service itself.
//  4. The number of refusals a second is bounded. Above the bound, shed commands wait for their refusal. A
//     refusal costs a third of a command's work, so clients that retry at once would otherwise take
//     processor time from accepted commands.
//
// Callers: api.
//
// Rejected: Another design would bound the queue's length. It was not chosen because a length does not bound the
// time: with a slower disk the same length takes ten times as long. A third design would serve the newest command
// first. It was not chosen because a client's later command could overtake an earlier one, although the waits would
// be shorter. golang.org/x/sync/semaphore was not chosen because it does not know how long a waiter has waited.
package shed
