// Package store keeps the rows of one data directory: groups become durable one after the other, and
// snapshots read them. Of this module only store and badgerfile import Badger. The package exists
// because of what Badger does when a disk fails (badger.go).
//
// The directory has store/ (Badger), HEAD (the last durable group), IDENTITY (the store's and
// its keyring's identity), TABLES (each table's checksum) and LOCK. DAMAGED marks known loss of
// rows, RESTORING an unfinished restore, which only the restore may open.
//
// Invariants:
//  1. When Apply returns nil, the group is on the disk and HEAD has its number; nothing is acknowledged
//     before that. Any error stops all writing for good.
//  2. A group is stored completely or not at all, after its predecessor: it is one Badger
//     transaction, and its row has the hash of the group before.
//  3. Group n's rows have Badger version n+1. Version 1 is the schema.
//  4. A returned value is the stored value: each stored value ends with a CRC-32C over its key and its
//     bytes.
//  5. Every stored row is found, or Open refuses the store. Before Badger may change a file,
//     every byte of every table and log is checked, and the versions in the logs must follow
//     without a gap from those in the tables to HEAD's. Then the chain of groups is walked
//     back, for twice the size of the memtables (examine.go lists damage and consequences).
//  6. A failure of Badger's background work ends the store at once, and the process with it (Failed).
//     The next Open finds everything that was acknowledged, whatever a failed sync left behind.
//  7. Badger never begins to write more than the disk has room for.
//  8. A snapshot always shows the same group, and never waits for a sync.
//  9. The rows of a Loader are a store only after Finish: with the same versions, the chain of
//     groups checked, and HEAD at its end.
//  10. Taking an increment fails if a row was removed that belongs to a kind that the increment does
//     not carry whole.
//
// Callers: posting, snapshots, cmd/mizan for the errors of Open.
//
// Rejected: Badger's own Backup and Load. Its backups have no end mark, so a truncated one is not
// noticed, and they miss deletions that compaction has made; Load uses logs and memtables again, which
// takes several times as long as making tables. Badger's own timestamps: a new snapshot would wait for
// the current commit, and a version would not tell its group. SyncWrites off with a sync of our own: it
// saves a flush of 60 µs per group and depends on how Badger switches logs. Cached blocks: without
// compression, blocks are read directly from the mapped file.
package store
