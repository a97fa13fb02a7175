// Package progress shows on a terminal how much of a long command is done, how fast it proceeds, and how long the
// rest will take.
//
// Invariants:
//  1. A meter shows one line. It rewrites the line at most twice a second, and Meter.End removes the line.
//  2. The methods of a nil meter do nothing, so code that counts its work need not check whether there is a meter.
//  3. A meter is safe for concurrent use.
//
// Callers: the commands (they make the meters), snapshots (it counts its work with the meter from its context).
//
// Rejected: A library's progress bar would tell less than a line with figures, and the line needs only one escape sequence.
package progress
