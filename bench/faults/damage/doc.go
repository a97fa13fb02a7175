// Package damage tests how the real server behaves when its files are damaged. Files of every kind are damaged, in the data
// directory and among the backups. A test flips a bit, fills a page with zeros, cuts off the end of a file, restores an earlier
// content of a file, swaps the contents of two files of the same kind, or removes a file. It does so before a start of the
// server or while the server runs.
//
// Invariants:
//  1. Every file that a server leaves has a kind in the table of kinds. If the table has no kind for the name of a file, a test
//     fails. So a new kind of file is tried too.
//  2. Damaged bytes are never taken for correct data. If damage is not harmless, it is noticed in one of three ways. The server
//     refuses to start, with a message that names the cause; or the running server ends and says why; or `audit verify`, an
//     auditor's watch, `backup verify` or a restore finds the damage.
//  3. A server that refuses to start has changed nothing. When the damaged file has its old content again, the server starts,
//     and nothing is lost.
//
// The tests of package posting/store flip bits of every file of a store and open the store in their own process. In this package
// the whole server runs, and the checker compares the store with the responses that clients got.
//
// Callers: its own tests. MIZAN_SOAK=10m tries all kinds of files with all kinds of damage, again and again with other random
// choices. MIZAN_SEED repeats the choices, and MIZAN_CASE is a regular expression that selects cases by name.
//
// Rejected: another design would list the files' names. It was not chosen because the list would miss a file that
// somebody adds.
package damage
