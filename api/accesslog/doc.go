// Package accesslog writes the access log: a line for each request that has got a response.
//
// Invariants:
//  1. A line has the route's pattern, numbers and identifiers. It has no path, query, body, header or key.
//  2. Log.Add never waits for the output. It appends the line to a bounded buffer, which a goroutine writes to the output.
//     A line that does not fit into the buffer is dropped and counted.
//  3. Each call of Write has whole lines only. So a line of another writer to the same output never splits a line of
//     the log.
//  4. Add allocates nothing.
//
// Callers: api, after each response; cmd/mizan makes the Log and changes its Mode.
//
// Rejected: another design would use the service's structured logger (slog). It was not chosen because slog makes a
// system call for each line while it holds a lock, so a slow reader of stderr would delay every request.
package accesslog
