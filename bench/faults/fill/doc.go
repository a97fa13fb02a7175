// Package fill fills the disk of the real server: the data directory is on a small file system in memory, and a file beside it takes the
// space, at once or in steps, before the start or under load.
//
// Invariants:
//  1. While the disk is full the server answers with 503, or ends with code 1 and one line that says why; reads that it answers
//     are right. Nothing acknowledged is lost.
//  2. When there is space again, a server that still runs carries out commands, and one that has ended starts.
//  3. A start on a full disk succeeds, or is refused in words and changes nothing.
//
// Callers: its own tests. MIZAN_SOAK=10m runs new cases for that time, and MIZAN_SEED repeats the choices.
//
// Rejected: a quota. It gives another error (EDQUOT), and writes to a file that is mapped into memory fail in another way.
package fill
