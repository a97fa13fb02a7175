// Package testkit has the surroundings of tests. A Server is the real binary: built once for a
// test process, started as a child on a free loopback port, waited for until the health check
// reports ok, and killed, stopped and restarted. A World is what services run on inside the test's
// process: store, journal, runtime, keyring and clock.
//
// Invariants:
//  1. The server under test is a separate process, so that a test can kill it.
//  2. Only child processes that were started here are ever signalled.
//  3. Nothing waits for a fixed time: a start ends when the health check reports ok, a stop
//     when the process has ended, and each has a bound that fails the test.
//  4. Of the server it knows only the interface: flags, exit codes, sandbox.json, HTTP.
//  5. Under the race detector a process with goroutines (serve, backup, restore) has it too, and a
//     race in it fails the test even if the process was killed. Other commands never have it.
//  6. A world knows no service, so that the tests of every service can use it.
//
// Callers: tests of actors, api, cmd/mizan, bench and snapshots; never the product.
//
// Rejected: a whole server inside the test process. It can't be killed, and its memory would
// survive its restart.
package testkit
