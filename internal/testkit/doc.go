// Package testkit has fixtures for tests. A Server is a child process that runs the real binary on a free loopback
// port; a test can kill, stop and restart it. A World has everything that services need inside the test's process:
// store, journal, runtime (of actors), keyring and clock.
//
// Invariants:
//  1. The server under test is a separate process, so that a test can kill it. The binary is built once per test
//     process.
//  2. The kit signals only child processes that it has started itself.
//  3. Nothing waits for a fixed time. The start of a server waits until the health check reports ok, and its stop waits until
//     the process has ended. A start or stop that takes too long fails the test.
//  4. The kit uses a server only through its public interface: flags, exit codes, sandbox.json, HTTP.
//  5. If the tests run under the race detector, so do the commands with goroutines (serve, backup, restore). A race
//     in such a process fails the test even if the process was killed. Other commands never run under the race
//     detector.
//  6. A World depends on no service, so that the tests of every service can use it.
//
// Callers: tests of actors, api, cmd/mizan, bench and snapshots; never code outside tests.
//
// Rejected: another design would run a whole server inside the test process. It was not chosen because such a server
// cannot be killed, and because its memory would survive its restart.
package testkit
