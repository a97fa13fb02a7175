// Package store keeps the rows of one data directory. A group is a set of rows that become durable
// together. The groups are numbered and become durable one after the other; a snapshot reads the rows as
// they were after one group. In this module only store, recent and badgerfile import Badger, the key-value store
// underneath. The package exists because of what Badger does when a disk fails (badger.go).
//
// The directory has log/ (the groups, posting/log), store/ (Badger, and in store/values/ the long values), IDENTITY (the store's and
// its keyring's identity), TABLES (each table's checksum) and LOCK. DAMAGED marks known loss of
// rows, RESTORING an unfinished restore, which only the restore may open.
//
// Invariants:
//  1. When Apply returns nil, the group is durable in the log, and snapshots see it; nothing is
//     acknowledged before that. Any error stops all writing for good.
//  2. A group is stored completely or not at all, after its predecessor: it is one frame of the log, and the row that describes
//     it has the hash of the group before. The rows of durable groups stay in memory, bounded by two transactions of Badger,
//     until one transaction writes the groups' newest rows to Badger (flush.go). Badger gets no group that is not durable in the
//     log, and the log keeps each group until Badger's tables have it.
//  3. A transaction of Badger has version 256n+1, where n is its last group. So the highest version in the tables tells which
//     groups they have. Version 1 has only the schema's row. The versions between those of two groups are for rows whose values
//     were moved (collect.go).
//  4. A returned value is the stored value: each stored value ends with a CRC-32C over its key and its
//     bytes.
//  5. Every stored row is found, or Open refuses the store. Before Badger may change a file, every byte of every table is checked. Then the chain of
//     groups is walked back, over groups of four times the size of the memtables, and the log must continue it (examine.go lists damage and
//     consequences). Long values are in files beside the tables (package values), whose checksums tell them from what an earlier process has written
//     at the same places. Open checks the files' lengths, a reader checks what it reads, and every byte is checked once in the background after a
//     start (collect.go); damage is ignored only in values that no row needs. Open removes no file of values before the log is replayed.
//  6. A failure of Badger's background work ends the store at once, and the process with it (Failed).
//     The next Open finds everything that was acknowledged, whatever a failed sync left behind.
//  7. Badger never begins to write more than the disk has room for.
//  8. A snapshot always shows the rows as they were after the same group, and never waits for a sync or for Badger's
//     writes.
//  9. The rows that a Loader copies from another store become a store only in Finish: they have the versions of the
//     other store, their chain of groups is checked, and the log continues after their last group.
//  10. Reading an increment (a backup of the rows since an earlier backup) fails if a row was removed,
//     unless increments contain all rows of that row's kind (CarriedWhole).
//
// Callers: posting, snapshots, cmd/mizan for the errors of Open.
//
// Rejected: a Badger transaction for each group. Each group would wait for Badger, and Badger would write a record once for each
// of its steps. Rejected: Badger's own Backup and Load. Its backups have no end mark, so a truncated one is not noticed, and they
// miss a deletion whose row compaction has dropped; Load writes every row to logs and memtables again, which takes several times
// as long as making tables. Rejected: Badger's own timestamps, with which a new snapshot would wait for the current commit, and a
// version would not tell its group. Rejected: Badger's own logs (SyncWrites), which take about three flushes a group, and of
// which a lost one leaves no visible gap. Rejected: a cache of blocks, which would save nothing, because blocks are not
// compressed and are read directly from the mapped file.
package store
