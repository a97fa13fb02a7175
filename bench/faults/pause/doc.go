// Package pause stops and continues the real server (SIGSTOP, SIGCONT) at random instants for random times: while it starts, under load, while it
// gives a backup and while it stops. Some servers are killed meanwhile. A machine that is suspended or overcommitted does the same.
//
// Invariants:
//  1. Every response is right, also if the server has been stopped between the request and its response for longer than its time-outs.
//  2. A server that continues serves, and stops with exit code 0. One that was killed while it was stopped starts again.
//  3. Nothing that was acknowledged is lost.
//
// Callers: its own tests. MIZAN_SOAK=10m runs new cases for that time. MIZAN_SEED repeats the choices, except for the instants at which
// the kernel delivers signals.
//
// Rejected: a slow clock in the server. It can't stop one thread in the middle of a system call.
package pause
