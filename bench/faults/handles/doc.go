// Package handles runs the real server with few file handles: with a limit from its start, and with a limit that is lowered while it
// is under load with many connections.
//
// Invariants:
//  1. With every limit the server serves, or refuses to start in words.
//  2. A running server that gets no more handles refuses requests and connections, or ends and says why. Nothing that
//     it has answered is lost.
//  3. When there are handles again, a server that still runs carries out commands, and one that has ended starts.
//
// Callers: its own tests. MIZAN_SOAK=10m tries all limits, and then lowers the limit again and again by random amounts;
// MIZAN_SEED repeats the choices.
//
// Rejected: many connections only. The server bounds them (see docs/operations.md, "Open files and connections"), so handles never run
// out by them alone.
package handles
