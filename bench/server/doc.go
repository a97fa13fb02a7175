// Package server runs the real binary as a separate process, for the tests and measurements of bench. It can also run an echo
// server, which answers each POST with the body of the POST. Measurements compare the real server with the echo server.
//
// Invariants:
//  1. A signal is sent to one pid, and only before the process has been waited for. Until then the kernel can't give the pid to
//     another process.
//  2. A server is ready when it has written its sandbox.json and the health check reports core_status ok. The server writes a
//     new file and renames it to sandbox.json, so a file from an earlier start is recognized by its inode.
//  3. When the process that started the server dies, the kernel kills the server too.
//
// Callers: bench, bench/crash, bench/orders, bench/faults.
//
// Rejected: another design would run the server in the process of the load generator. It was not chosen because the server's
// CPU time and memory could not be measured separately from the generator's, and because the server could not be killed
// separately.
package server
