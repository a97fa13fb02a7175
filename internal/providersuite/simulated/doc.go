// Package simulated describes the simulator (actors/provider/simulator) as a rail of the providers' suite: in the process of
// the core, and behind a connection (actors/provider/simulator/remote).
//
// Invariants:
//  1. What has moved is read from the simulator's log, not from the adapter's answers.
//  2. The simulator has a clock of its own, which the suite moves together with the core's.
//
// Callers: tests of the simulator, of its connection and of the suite; never code outside tests.
//
// Rejected: the description could be a file of the simulator's own tests. It was not chosen because three packages use it.
package simulated
