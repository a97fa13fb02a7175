// Package pause tests that the real server survives pauses, such as those of a machine that is suspended or
// overcommitted.
//
// The tests pause and continue the server (SIGSTOP, SIGCONT) at random instants for random times: while the server
// starts, under load, while it sends a backup and while it stops. Some servers are killed, half of them during a
// pause. With MIZAN_SOAK=10m the tests run new cases for 10 minutes. MIZAN_SEED repeats the random choices, except
// for the instants at which the kernel delivers signals.
//
// Invariants:
//  1. Every response is right, even if the server was paused between the request and its response for longer than the
//     server's time-outs.
//  2. A server that is continued after a pause serves requests again, and later stops with exit code 0. A server that
//     was killed while it was paused can be started again.
//  3. Nothing that was acknowledged is lost.
//
// Callers: its own tests.
//
// Rejected: Another design would slow down the clock in the server. It was not chosen because a slow clock cannot
// stop one thread in the middle of a system call.
package pause
