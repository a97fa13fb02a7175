// Package accesslog writes the access log, which has one line for each request that was answered.
//
// Invariants:
//  1. A line contains the route's pattern, numbers and identifiers. It never contains a path, query, body, header or key.
//  2. Log.Add never waits for the output. It appends the line to a bounded buffer, which a goroutine writes to the output.
//     A line that does not fit into the buffer is dropped and counted.
//  3. Each call of Write passes only whole lines. Therefore, if others write to the same output, their lines never
//     split a line of the log.
//  4. Add allocates nothing.
//
// Callers: api, after each response; cmd/mizan makes the Log and changes its Mode.
//
// Rejected: another design would use the service's structured logger (slog). It was not chosen because slog makes a
// system call for each line while it holds a lock, so a slow reader of stderr would delay every request.
package accesslog
