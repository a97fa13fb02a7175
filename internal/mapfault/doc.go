// Package mapfault ends the process with one line and a chosen exit code if a memory-mapped
// file can't be read or written.
//
// The embedded store writes its files through memory maps. If the disk is full or fails, the kernel sends SIGBUS on
// such an access, at any instruction. The Go runtime turns the signal into a crash with a stack trace of every
// goroutine and exit code 2. Only a goroutine itself can ask for a panic instead, and the goroutines that access the
// maps are those of the store's library, Badger. So this package installs a signal handler.
//
// Invariants:
//  1. The handler runs no Go code and takes no lock: it makes three system calls, write,
//     nanosleep and exit_group. To the store this end looks like SIGKILL.
//  2. The process ends with one line: the handler's line or, after LastWord, one that the process itself prints.
//  3. The rest of the runtime's signal handling does not change.
//
// Callers: cmd/mizan, tests of posting/store.
//
// Rejected: reserving disk space before each write (posting/store, space.go) as the only measure; another process can
// use it up in between. Rejected: a parent process that watches; it would have to forward every signal, and could be
// killed itself.
package mapfault
