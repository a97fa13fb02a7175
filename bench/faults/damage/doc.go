// Package damage damages files of the real server, of every kind that is in its data directory and among its backups. It flips
// a bit, fills a page with zeros, cuts the end off, puts back an earlier content, puts in the content of another file of the
// kind, or removes the file. It does so before a start and while the server runs.
//
// Invariants:
//  1. Every file that a server leaves has a kind in the table of kinds. A name without a kind fails a test, so that a new kind of file is
//     tried too.
//  2. Damage is harmless, or a start is refused in words, or the running server ends and says why, or `audit verify`, an auditor's
//     watch, `backup verify` or a restore finds it. Nothing is misread.
//  3. A start that was refused has changed nothing: once the file has its old content again, the server starts and has
//     everything.
//
// The tests of package posting/store flip bits of every file of a store and open the store in their own process. Here the server
// itself runs, with all its other files, and the checker compares the store with the responses that clients got.
//
// Callers: its own tests. MIZAN_SOAK=10m tries all kinds with all harms, again and again with other random choices. MIZAN_SEED
// repeats the choices, and MIZAN_CASE is a regular expression that selects cases by name.
//
// Rejected: a list of the files' names. It would miss a file that somebody adds.
package damage
