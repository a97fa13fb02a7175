// Package damage damages the files of the real server: every kind of file in its data directory and among its backups, by a flipped bit, a zero
// page, a cut, a copy of an earlier moment, the content of another file of the kind, and removal; before a start, and while the server runs.
//
// Invariants:
//  1. Every file that a server leaves has a kind in the table of kinds. A name without a kind fails a test, so that a new kind of file is
//     tried too.
//  2. Damage is harmless, or a start is refused in words, or the running server ends and says why, or `audit verify`, an auditor's
//     watch, `backup verify` or a restore finds it. Nothing is misread.
//  3. A start that was refused has changed nothing: with the file as it was, the server starts and has everything.
//
// Package posting/store flips bits of every file of a store and opens it in the test's process. Here the server itself runs, with all its
// other files, and a checker that compares with what clients were answered.
//
// Callers: its own tests. MIZAN_SOAK=10m tries all kinds with all harms, again and again with other draws. MIZAN_SEED repeats the
// choices, and MIZAN_CASE is the pattern of the names of the cases to run.
//
// Rejected: a list of the files' names. It says nothing about a file that somebody adds.
package damage
