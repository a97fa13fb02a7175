// Package inject makes system calls of the real server fail, by strace: every call that the server makes, with each of the errors
// EIO, ENOSPC, EMFILE and ENOMEM that it can return.
//
// Invariants:
//  1. The table of system calls has every call that the server makes while it creates a store, starts, serves, gives a backup and
//     stops. A call that is not in it fails a test.
//  2. Each call of the table is made to fail with each of its errors: the first of each thread, one that is drawn, all, and all from one that is
//     drawn; from the start of the process, and from a moment under load.
//  3. The server then answers with success or 503, or ends and says why. It starts again, and nothing that was acknowledged is lost.
//
// strace counts the calls of each thread separately, so "the first" may be several.
//
// Callers: its own tests. MIZAN_SOAK=20m runs all cases in a random order, as often as the time allows. MIZAN_SEED repeats the order, and
// MIZAN_CASE is the pattern of the names of the cases to run.
//
// Rejected: failpoints in the program, which fail only where a developer expected a failure; seccomp, which can't count calls.
package inject
