// Package handles tests the real server with few file handles (the operating system's numbers for open files and
// connections). The limit of handles is low from the server's start, or is lowered while the server is under load
// with many connections.
//
// With MIZAN_SOAK=10m the tests try all limits, and then lower the limit again and again by random amounts.
// MIZAN_SEED repeats the random choices.
//
// Invariants:
//  1. With every limit the server either serves requests, or refuses to start with a message that names the cause.
//  2. A running server that gets no more handles either refuses requests and connections, or ends and says why.
//     Nothing that the server has acknowledged is lost.
//  3. When there are handles again, a server that still runs carries out commands, and a server that has ended can be
//     started.
//
// Callers: its own tests.
//
// Rejected: Another design would only open many connections. It was not chosen because the server bounds its
// connections (see docs/operations.md, "Open files and connections"), so connections alone never use up the handles.
package handles
