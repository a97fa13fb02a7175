// Package serving implements the command `mizan serve`. It starts the parts of the service in order, serves
// requests, reloads its configuration on the signal SIGHUP, and stops.
//
// Invariants:
//  1. Nothing is opened before the whole configuration has been checked.
//  2. The start order is: metrics, access log and traces, limit of open files, directory with its lock and
//     store, keyring, checker if requested, TLS, directory of organizations, listener (which at first only
//     responds to health checks), providers with the simulator's log or connection, actors and recovery, the sandbox's seed
//     and sandbox.json, then requests. So all due work is scheduled before health checks report core_status "ok".
//  3. A stop closes the parts in reverse order and takes at most stopTimeout. Unfinished work is durable as an
//     intent (an event that is stored before the work begins), and the next start resumes it.
//  4. After a storage fault the process ends and acknowledges nothing more.
//  5. A SIGHUP changes either all settings that reload.go lists, or none of them. A SIGHUP never ends the process.
//  6. A token or key in plaintext is written to sandbox.json or printed once, and nowhere else.
//  7. A manual clock's new value is durable before the clock moves. So after a kill the clock is never behind the times of
//     events in the store.
//
// Callers: cmd/mizan, and maintenance, which rotates the tokens of a stopped server.
//
// Rejected: Starting each part when the first request needs it was considered. It was not chosen because a part could then fail
// to start although health checks already report that the server is ready.
package serving
