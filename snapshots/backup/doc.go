// Package backup takes backups of a running store, verifies them, restores them and removes old ones. A backup is
// either full, or an increment: only the changes since another backup, its base. format.go describes the form of a
// backup's file.
//
// Invariants:
//  1. A backup shows the store as it was after one group (the changes that became durable with one sync). Rows are
//     encrypted before they leave the process. A file gets a backup's name only when it is complete and durable.
//  2. The manifest says what the backup contains. The manifest is sealed with a key of the keyring (the file with the
//     server's keys), so nobody without the keyring can change the manifest. The end frame of the file has a hash
//     with which a reader without keys can check that no byte is missing or changed.
//  3. While a backup is taken, compaction can't drop old versions of rows. Therefore the duration of a backup is
//     bounded. No iterator stays open between two parts of a backup, so the store can delete tables that compaction
//     has replaced.
//  4. A restored directory gets its final name only after the size and root hash of each journal were found to match
//     the manifest, and the checker has run. Until then a marker file in the directory, the mark, prevents every
//     process from opening the directory. A restore never removes a directory without a mark.
//  5. When old backups are removed, each backup that a remaining increment needs is kept, and so are all files of
//     other programs and stores. Before an increment is taken, its base and all backups that the base needs are read
//     to the end.
//  6. If several backups could be restored, the newest is used. An unreadable backup is never skipped in favor of an
//     older one. Damage in backups that are not needed has no effect.
//
// Callers: cmd/mizan (commands and scheduled backups), api (streams a backup to a client).
//
// Rejected: writing a directory of files for each backup was not chosen, because a single file is either complete or
// not, gets its name in one step, and fits an object store. Compression was not chosen, because for a loaded server
// the computing time costs more than the disk space.
package backup
