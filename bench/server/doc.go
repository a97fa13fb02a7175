// Package server runs the real binary as a separate process, for the tests and measurements of bench. It can
// also run an echo (a server that answers each POST with the POST's own body), with which the load generator
// compares the server.
//
// Invariants:
//  1. A process is signalled by its own pid, and only as long as the process has not been waited for. Until then the kernel
//     gives its pid to no other process.
//  2. A server is ready when it has written its sandbox.json and the health check reports core_status ok. A sandbox.json from an
//     earlier start is recognized by its inode, because the server writes a new file and renames it.
//  3. When the process that has started the server dies, the kernel ends the server too.
//
// Callers: bench, bench/crash, bench/orders, bench/faults.
//
// Rejected: Serving from the generator's own process was considered; it was not chosen because the generator's
// CPU time and memory would mix with the server's, and because the server could not be killed separately.
package server
