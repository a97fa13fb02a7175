// Package testkit has fixtures for tests. A Server is a child process that runs the real binary on a free loopback port; a test
// can kill, stop and restart the Server. A Simulator is a child process of the same kind that runs `mizan simulator`. A World
// is for tests that run services in the test's own process. It has a store, a journal, a runtime (of actors), a keyring and a
// clock.
//
// Invariants:
//  1. The server under test is a separate process, so that a test can kill the server. A test process builds the server's
//     binary at most once.
//  2. The kit sends signals only to child processes that it has started itself.
//  3. Nothing waits for a fixed time. After starting a server, the kit waits until the health check reports ok. After stopping
//     a server, the kit waits until the process has ended. If the start or the stop takes too long, the test fails.
//  4. The kit uses a server only through its public interface: flags, exit codes, sandbox.json, HTTP.
//  5. If the tests run under the race detector, so do the commands with goroutines (serve, simulator, backup, restore). If the
//     race detector finds a race in such a process, the test fails, even if the process was killed. Other commands never run
//     under the race detector.
//  6. Package testkit imports no service, so that the tests of every service can use a World.
//
// Callers: tests of actors, api, cmd/mizan, bench and snapshots; never code outside tests.
//
// Rejected: A server could run inside the test process. But a test cannot kill such a server, and the memory of the server
// would survive a restart.
package testkit
