// Package inject tests how the real server behaves when system calls fail. The tests use strace to let each of the server's
// system calls fail with each of the errors EIO, ENOSPC, EMFILE and ENOMEM that the call can return.
//
// Invariants:
//  1. The table of system calls contains every call that the server makes while it creates a store, starts, serves, sends a
//     backup and stops. If the server makes a call that is not in the table, a test fails.
//  2. Each call in the table is made to fail with each of its errors. In each thread, the failures follow one of four
//     patterns: the first such call fails, or one random call, or every call, or every call, beginning with a random one.
//     Calls are counted from the start of the process, or from a moment under load.
//  3. After a failed call, the server answers each request with success or 503, or it ends and says why. It can be started
//     again, and nothing that was acknowledged is lost.
//
// strace counts the calls of each thread separately. So if the first call has to fail, a call fails once in each thread.
//
// Callers: its own tests. MIZAN_SOAK=20m runs all cases in a random order, as often as the time allows. MIZAN_SEED repeats the
// order, and MIZAN_CASE is a regular expression that selects cases by name.
//
// Rejected: another design would use failpoints in the program. It was not chosen because failpoints fail only where a
// developer expected a failure. A design with seccomp was not chosen because seccomp can't count calls.
package inject
