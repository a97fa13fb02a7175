// Package simulator implements the command `mizan simulator`: the simulated provider as a process of its own, which several
// servers of a sandbox use (`mizan serve --simulator-url`).
//
// Invariants:
//  1. Nothing is opened before all flags have been checked.
//  2. The process locks its data directory in the same way as a server does, so one simulator.log never has two writers. It
//     refuses the data directory of a server, whose checker compares simulator.log with the store.
//  3. It listens on a loopback address only, because its connections are neither encrypted nor authenticated.
//  4. The ready line is printed when connections are accepted. A stop answers the requests in progress, for at most
//     stopTimeout, and then closes the log.
//  5. If a damaged line is found while the process runs, the process ends with the code of a storage fault, as a server does.
//
// Callers: cmd/mizan.
//
// Rejected: A supervisor that starts the simulator together with the first server was considered. It was not chosen because
// the simulator stands for another company, which does not stop when a server does.
package simulator
