// Package progress shows on a terminal how much of a long command is done, how fast it proceeds, and how long the
// rest will take.
//
// Invariants:
//  1. A meter shows one line. It rewrites the line at most twice a second, and Meter.End removes the line.
//  2. A nil meter does nothing, so code that counts need not check whether progress is shown.
//  3. A meter is safe for concurrent use.
//
// Callers: the commands (they make the meters), snapshots (counts its work with the meter in its context).
//
// Rejected: another design would use a library's progress bar. It was not chosen because a line with figures tells more than
// a bar and needs only one escape sequence.
package progress
