// Package fill tests what the real server does when its disk is full. The data directory is on a small file system in memory.
// Another file on this file system takes up the space: at once or in steps, before the start or under load.
//
// Invariants:
//  1. While the disk is full, the server answers with status 503, or ends with code 1 and one line that says why. Its responses
//     to reads are correct. Nothing that the server has acknowledged is lost.
//  2. When there is space again, a server that still runs carries out commands. A server that has ended can be started again.
//  3. A start on a full disk either succeeds or is refused. A refused start changes nothing, and its message
//     names the cause.
//
// Callers: its own tests. MIZAN_SOAK=10m runs new cases for ten minutes, and MIZAN_SEED repeats the choices.
//
// Rejected: A quota instead of a full file system was considered; it was not chosen because a quota gives another error
// (EDQUOT), and because writes to a file that is mapped into memory fail in another way.
package fill
