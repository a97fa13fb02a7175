// Package testkit has fixtures for tests. A Server is the real binary: it is built once for a test
// process and started as a child on a free loopback port; a test can kill, stop and restart it. A
// World has everything that services need inside the test's process: store, journal, runtime,
// keyring and clock.
//
// Invariants:
//  1. The server under test is a separate process, so that a test can kill it.
//  2. Only child processes that were started here are ever signalled.
//  3. Nothing waits for a fixed time: a start ends when the health check reports ok, a stop
//     when the process has ended, and a start or stop that takes too long fails the test.
//  4. The kit uses only the server's interface: flags, exit codes, sandbox.json, HTTP.
//  5. If the tests run under the race detector, so do the commands with goroutines (serve, backup,
//     restore), and a race in such a process fails the test even if the process was killed. Other
//     commands never run under it.
//  6. A World depends on no service, so that the tests of every service can use it.
//
// Callers: tests of actors, api, cmd/mizan, bench and snapshots; never the product.
//
// Rejected: a whole server inside the test process. It can't be killed, and its memory would
// survive its restart.
package testkit
