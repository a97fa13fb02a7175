// Package serving is `mizan serve`: it starts the parts of the product in order, serves,
// reloads on SIGHUP, and stops.
//
// Invariants:
//  1. Nothing is opened before the whole configuration has been checked.
//  2. Start order: metrics, access log and traces, limit of open files, directory with its lock and store, keyring, checker if
//     requested, TLS, directory of organizations, listener (which at first only responds to health checks),
//     providers with the simulator's log, actors and recovery, the sandbox's seed and sandbox.json,
//     then requests. So when health checks report core_status "ok", all due work is scheduled.
//  3. A stop closes the parts in reverse order and takes at most stopBound. Unfinished work is
//     durable as an intent, a stored note of what is to be done, and the next start resumes it.
//  4. After a storage fault nothing more is acknowledged: the process ends.
//  5. A SIGHUP changes all settings that reload.go lists, or none of them, and never ends the process.
//  6. A plain token or key is only written to sandbox.json or printed once.
//  7. A manual clock's value is durable before the clock moves, so after a kill the clock is
//     never behind the booked times in the store.
//
// Callers: cmd/mizan; maintenance rotates tokens in a stopped server's store.
//
// Rejected: starting parts at their first request. A server whose health check is ok could then
// still fail to start.
package serving
