// Package shed bounds the time for which commands (requests that write) wait for the service itself. If a command
// would wait longer, it is shed (refused). What decides is how long the oldest waiting command has waited. Reads and
// health checks are exempt.
//
// There is a fixed number of places, enough to keep the machine busy. A command that has a place is in service.
// Other commands wait in a queue, first in, first out. If a command has waited MaxAge without getting a place, it is
// shed, and no work was done for it. If there have been waiting commands all the time for MaxAge, more commands
// arrive than the service can handle, and long waits do not help. The bound is then StandingQueueAge, so that
// accepted commands are answered soon under any load. A short burst of commands is not shed.
//
// Invariants:
//  1. A command is accepted or shed at most MaxAge after it called Enter.
//  2. No command overtakes a waiting command.
//  3. While a command waits for a provider, another command may use its place; ProviderCalls returns the number of
//     such commands. Any other command loses its place after PlaceTimeout, which is longer than any work of the
//     service itself.
//  4. The number of refusals per second is bounded. If there are more, shed commands wait for their refusal. A
//     refusal costs a third of the work of a command, so otherwise clients that retry at once would take processor
//     time from accepted commands.
//
// Callers: api.
//
// Rejected: Another design would bound the length of the queue. It was not chosen because the length does not bound
// the waiting time: if the disk is slower, the same queue may take ten times as long. A third design would serve the
// newest command first. The waits would be shorter, but a client's later command could overtake an earlier one.
// golang.org/x/sync/semaphore was not chosen because it does not know how long a caller has waited.
package shed
