// Package rollback sets the files of a real server back to an earlier moment, as somebody does who restores an image of
// the whole disk. The files in the directory and the backups then agree with each other, so only somebody who keeps
// information elsewhere can notice.
//
// Invariants:
//  1. An auditor's watch keeps the last head (the number of events and the root of their hash tree) elsewhere. It refuses a
//     server that was set back: at once, and also after the server has booked as much as before, or more.
//  2. A server that was not set back is never refused.
//  3. If only some of the files are set back, a start is refused in words, or `audit verify` or the watch finds it, or nothing
//     is lost.
//
// Callers: its own tests. MIZAN_SOAK=10m runs new cases for that time, and MIZAN_SEED repeats the choices.
//
// Rejected: a counter in the directory. It is set back with everything else.
package rollback
