// Package rollback tests whether a rollback is noticed. In a rollback, somebody sets the files of a real server back to an
// earlier state, for example by restoring an image of the whole disk. Afterwards the data directory and the backups agree with
// each other. So only somebody who keeps information elsewhere can notice the rollback.
//
// Invariants:
//  1. An auditor's watch keeps the last head (the number of events and the root of their hash tree) elsewhere.
//     The watch refuses a server that was set back. It does so at once, and also after the server has booked as
//     much as before, or more.
//  2. A server that was not set back is never refused.
//  3. If only some of the files are set back, there are three allowed results: the server refuses to start, with a message that
//     names the cause; or `audit verify` or the watch finds the fault; or nothing is lost.
//
// Callers: its own tests. MIZAN_SOAK=10m runs new cases for ten minutes, and MIZAN_SEED repeats the choices.
//
// Rejected: A counter in the data directory was considered; it was not chosen because it is set back with
// everything else.
package rollback
