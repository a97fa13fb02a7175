// Package backup takes backups of a running store, verifies them, restores them and removes old ones. A backup is
// either full, or an increment: only the changes since another backup, its base. format.go describes the form of a
// backup's file.
//
// Invariants:
//  1. A backup shows the store as it was after one group (the changes that became durable with one sync). Rows leave
//     the process encrypted. A file with a backup's name is whole and durable.
//  2. The manifest says what the backup contains. It is sealed with a key of the keyring (the file with the server's
//     keys), so nobody without the keyring can change it. The end of the file lets a reader without keys check that
//     no byte is missing or changed.
//  3. While a backup is taken, compaction can't drop old versions of rows. Therefore the duration of a backup is
//     bounded. No iterator stays open between two parts of a backup, so compaction can delete tables.
//  4. A restored directory gets its name only after the checker has run and the size and root hash of each
//     journal match the manifest. Until then a file in the directory, the mark, keeps every process from
//     opening the directory. A restore removes no directory without a mark.
//  5. The removal of old backups keeps each backup that a remaining increment needs, and all files of other
//     programs and stores. Before an increment is taken, its base and all backups that the base needs are
//     read to the end.
//  6. If several backups could be restored, the newest is used; an unreadable one is never skipped
//     in favor of an older one. Damage in backups that are not needed has no effect.
//
// Callers: cmd/mizan (commands and the schedule), api (the stream of a backup).
//
// Rejected: another design would write a directory of files for each backup. It was not chosen because one file is
// either whole or not, gets its name in one step, and fits an object store. Compression was not chosen because it
// would cost the loaded server more than the disk space that it saves.
package backup
