// Package accesslog writes a line for each request that was answered.
//
// Invariants:
//  1. A line has the route's pattern, numbers and identifiers. It has no path, query, body, header or key.
//  2. Add never waits for the output: lines wait in a buffer of bounded size, which a goroutine writes. A line that does not
//     fit is dropped and counted.
//  3. Lines are written whole, and never between the bytes of another line of the same output: the output is written by one
//     Write for several whole lines.
//  4. Add allocates nothing.
//
// Callers: api, after each response; cmd/mizan makes the Log and changes its Mode.
//
// Rejected: the service's structured logger (slog). It makes a system call for each line under a lock, so a slow reader of
// stderr would hold up every request.
package accesslog
