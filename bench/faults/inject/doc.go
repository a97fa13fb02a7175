// Package inject uses strace to make system calls of the real server fail: every call that the server makes, with each of the
// errors EIO, ENOSPC, EMFILE and ENOMEM that the call can return.
//
// Invariants:
//  1. The table of system calls has every call that the server makes while it creates a store, starts, serves, gives a backup and
//     stops. A call that is not in the table fails a test.
//  2. Each call of the table is made to fail with each of its errors. In each thread, either the first such call fails, or a
//     random one, or every one, or every one from a random one on. The count begins with the process or at a moment under load.
//  3. The server then answers with success or 503, or ends and says why. It starts again, and nothing that was acknowledged is lost.
//
// strace counts the calls of each thread separately, so several first calls may fail.
//
// Callers: its own tests. MIZAN_SOAK=20m runs all cases in a random order, as often as the time allows. MIZAN_SEED repeats the
// order, and MIZAN_CASE is a regular expression that selects cases by name.
//
// Rejected: failpoints in the program, which fail only where a developer expected a failure; seccomp, which can't count calls.
package inject
