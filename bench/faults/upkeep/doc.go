// Package upkeep kills what an operator runs beside serving, at any moment: a backup, the server that sends it, a restore, a change of keys, and
// starts of a server whose tables Badger is merging.
//
// Invariants:
//  1. Whatever a directory of backups has after a kill is whole, and the next backup builds on it. A restore of it passes the checker.
//  2. What a killed restore has left is refused in words, or it is complete. The restore can be repeated, and clears up.
//  3. After any of these kills the server starts, and everything that it has acknowledged is there.
//
// Callers: its own tests. MIZAN_SOAK=10m runs new cases for that time, and MIZAN_SEED repeats the choices; the moments of kills are a
// fraction of the time that the command takes without one, so they differ a little.
//
// Rejected: kills at system calls by strace. Package inject fails these calls one by one; a moment between two of them is found by chance only.
package upkeep
