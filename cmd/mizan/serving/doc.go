// Package serving is `mizan serve`: it starts the parts of the product in order,
// serves, reloads on SIGHUP, and stops.
//
// Invariants:
//  1. Nothing is opened before the whole configuration has been checked.
//  2. Start order: limit of open files, directory with its lock and store, keyring,
//     checker if asked, TLS, directory of organizations, listener (which answers
//     health checks only), providers with the simulator's log, actors and recovery,
//     the sandbox's seed and sandbox.json, then requests. So "core_status ok" means
//     that all due work is scheduled.
//  3. A stop closes what was opened in reverse order and takes at most stopBound.
//     Work that is not finished then is durable as an intent; the next start resumes it.
//  4. After a storage fault nothing more is acknowledged: the process ends.
//  5. A plain token or key is written to sandbox.json only, or printed once.
//  6. A manual clock is durable before it moves, so after a kill it is never
//     behind what the store has booked.
//
// Callers: cmd/mizan; maintenance rotates tokens in a stopped server's store.
//
// Rejected: starting parts lazily at their first request. A server that answers
// health checks with ok could then still fail to start.
package serving
