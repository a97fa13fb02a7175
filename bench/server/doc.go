// Package server runs the real binary as a separate process, which the load generator measures and the crash test kills. It can
// also run an echo (a server that answers each POST with the POST's own body), with which the load generator compares the server.
//
// Invariants:
//  1. A process is signalled by its own pid, and only until it has been waited for, so that the
//     pid can't belong to another process.
//  2. A server is ready when it has written its sandbox.json and the health check reports core_status ok. A sandbox.json that an
//     earlier start has left is recognized by its inode, because the server replaces the file by renaming.
//  3. When the process that has started the server dies, the kernel ends the server too.
//
// Callers: bench, bench/crash, bench/orders, bench/faults.
//
// Rejected: serving from the generator's own process. The generator's CPU time and memory would mix
// with the server's, and the server could not be killed separately.
package server
