// Package mapfault ends the process with one line and a chosen exit code where a file
// that is mapped into memory can't be read or written.
//
// The embedded store writes its files through memory maps. When the disk is full, or
// fails, the kernel answers such an access with SIGBUS, at whatever instruction it was.
// The Go runtime turns that into a crash with a stack trace of every goroutine and exit
// code 2, unless the goroutine has asked for a panic, which only it can do for itself; the
// store's goroutines are the library's own. So the signal gets a handler of this package.
//
// Invariants:
//  1. The handler runs no Go code and takes no lock: it makes three system calls, write,
//     nanosleep and exit_group. For the store, the process ends as it would by SIGKILL.
//  2. The process ends with one line: a fault's, or its own after LastWord.
//  3. Nothing else of the runtime's signal handling changes.
//
// Callers: cmd/mizan, tests of posting/store.
//
// Rejected: reserving disk space before each write (posting/store, space.go) as the only
// measure; another process can use it up in between. A parent process that watches; it
// would have to forward every signal, and could be killed itself.
package mapfault
