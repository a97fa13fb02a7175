// Package pause pauses and continues the real server (SIGSTOP, SIGCONT) at random instants for random times: while it starts,
// under load, while it gives a backup and while it stops. Some servers are killed, half of them during a pause. A machine that
// is suspended or overcommitted pauses a server in the same way.
//
// Invariants:
//  1. Every response is right, even if the server was paused between the request and its response for longer than the
//     server's time-outs.
//  2. A server that is continued serves, and later stops with exit code 0. A server that was killed while it was paused
//     starts again.
//  3. Nothing that was acknowledged is lost.
//
// Callers: its own tests. MIZAN_SOAK=10m runs new cases for that time. MIZAN_SEED repeats the choices, except for the instants at which
// the kernel delivers signals.
//
// Rejected: a slow clock in the server. It can't stop one thread in the middle of a system call.
package pause
