// Package progress shows on a terminal how far a long command is: how much is done, how fast, and how long the rest takes.
//
// Invariants:
//  1. A meter writes one line, which it overwrites at most twice a second, and which End removes.
//  2. A nil meter does nothing, so that code that counts need not ask whether somebody looks.
//  3. It is safe for concurrent use.
//
// Callers: the commands, which make meters; snapshots, which counts into the meter in its context.
//
// Rejected: a progress bar of a library. A line with figures tells more, and needs nothing of the terminal.
package progress
