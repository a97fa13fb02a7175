// Package mapfault ends the process with one line and a chosen exit code if a memory-mapped file cannot be read or
// written.
//
// The embedded store accesses its files through memory maps. If the disk is full or fails, such an access makes the kernel send
// SIGBUS, at any instruction. The Go runtime turns the signal into a crash with exit code 2 and a stack trace of every
// goroutine. A goroutine can ask for a panic instead (debug.SetPanicOnFault), but only for itself, and the goroutines that
// access the maps belong to Badger, the store's library. So this package installs a signal handler.
//
// Invariants:
//  1. The handler runs no Go code and takes no lock. It makes only three system calls: write, nanosleep and exit_group. For the
//     store, this end of the process is the same as SIGKILL.
//  2. The process ends with one line. The line comes from the handler or, after ClaimExitLine, from the process itself.
//  3. The rest of the runtime's signal handling does not change.
//
// Callers: cmd/mizan, tests of posting/store.
//
// Rejected: Only checking the free disk space before each write (posting/store, space.go) was considered. It was not chosen
// because another process can use up the space between the check and the write. A parent process that watches the server was
// also considered. It was not chosen because the parent would have to forward every signal, and could be killed itself.
package mapfault
