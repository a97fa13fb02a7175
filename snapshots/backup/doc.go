// Package backup takes backups of a running store, verifies them, restores them and
// removes old ones. format.go describes the file.
//
// Invariants:
//  1. A backup shows one group. Rows leave the process sealed, and a file that has a
//     backup's name is whole and durable.
//  2. The manifest, which only the keyring can seal, is the authority on the backup's
//     contents. The end frame lets a reader without keys check that the bytes are whole.
//  3. No iterator stays open between two parts: a backup keeps versions of rows from
//     compaction, for a bounded time, but no tables.
//  4. A restored directory gets its name after the checker has run and the heads of all
//     journals match the manifest. Until then a mark in the directory keeps every process
//     from opening it, and a restore removes no directory without such a mark.
//  5. Retention removes no backup that a kept increment needs, and no file of anyone else.
//     An increment is taken only on a backup that was just read to its end, with all
//     backups that it needs.
//  6. Where several backups qualify, the newest is used: an unreadable one is never passed
//     over for an older one. Backups that are not needed do not matter.
//
// Callers: cmd/mizan (commands and the schedule), api (the stream of a backup, through
// cmd/mizan).
//
// Rejected: a directory of files for a backup. One file is whole or not, gets its name at
// once, and an object store takes it as it is. Rejected too: compression. It would cost the
// loaded server more than the disk that it saves.
package backup
