// Package damage tests how the real server behaves when its files are damaged. Files of every kind are damaged, in the data
// directory and among the backups. A damage flips a bit, fills a page with zeros, cuts off the end of the file, puts an earlier
// content in place, swaps the contents of two files of the same kind, or removes the file. It happens before a start of the
// server or while the server runs.
//
// Invariants:
//  1. Every file that a server leaves has a kind in the table of kinds. If a file's name has no kind there, a test
//     fails. So a new kind of file is tried too.
//  2. Damaged bytes are never taken for correct data. Damage is either harmless or noticed in one of three ways. The
//     server refuses to start, with a message that names the cause. The running server ends and says why. Or the
//     damage is found by `audit verify`, an auditor's watch, `backup verify` or a restore.
//  3. If the server refuses to start, it has changed nothing. When the file has its old content again, the server starts, and
//     nothing is lost.
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
