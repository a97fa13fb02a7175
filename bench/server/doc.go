// Package server runs the real binary as a process of its own: the load
// generator measures it, the crash test kills it.
//
// Invariants:
//  1. A process is signalled by its own pid, and only while it has not been
//     waited for, so the pid can't belong to another process by then.
//  2. A server is ready when the sandbox.json of this start is there and the
//     health check says core_status ok. A file left by an earlier start is
//     told apart by its inode: the server replaces it by renaming.
//  3. When the process that started it dies, the kernel ends the server too.
//
// Callers: bench, bench/crash.
//
// Rejected: serving from the generator's own process. Its CPU time and memory
// would mix with the server's, and nothing could be killed.
package server
