// Package testkit runs the real binary for tests: it builds the binary once for a test process,
// starts it as a child on a free loopback port, waits until the health check reports ok, and
// kills, stops and restarts it.
//
// Invariants:
//  1. The server under test is a separate process, so that a test can kill it.
//  2. Only child processes that were started here are ever signalled.
//  3. Nothing waits for a fixed time: a start ends when the health check reports ok, a stop
//     when the process has ended, and each has a bound that fails the test.
//  4. It knows only the server's interface: flags, exit codes, sandbox.json, HTTP.
//
// Callers: tests of cmd/mizan, api, bench and snapshots; never the product.
//
// Rejected: a server inside the test process. It can't be killed, and its memory would survive
// its restart.
package testkit
