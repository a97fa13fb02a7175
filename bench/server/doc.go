// Package server runs the real binary as a separate process: the load generator measures it,
// the crash test kills it. Beside the server it can run an echo, with which the load generator compares
// the server.
//
// Invariants:
//  1. A process is signalled by its own pid, and only until it has been waited for, so that the
//     pid can't belong to another process.
//  2. A server is ready when it has written its sandbox.json and the health check reports core_status ok. A
//     sandbox.json of an earlier start has another inode, because the server replaces the file by renaming.
//  3. When the process that has started the server dies, the kernel ends the server too.
//
// Callers: bench, bench/crash, bench/orders, bench/faults.
//
// Rejected: serving from the generator's own process. The generator's CPU time and memory would mix
// with the server's, and the server could not be killed separately.
package server
