// Package store keeps the rows of one data directory in Badger (a key-value store) and in a log of its own. A group is a set
// of rows that become durable together. The groups are numbered and become durable one after the other; a snapshot reads the
// rows as they were after one group. In this module only the packages store, recent and badgerfile import Badger. They exist
// because Badger handles a failing disk badly (badger.go lists its faults).
//
// The directory has log/ (the groups, posting/log), store/ (Badger, and in store/values/ the long values), IDENTITY (the
// identities of the store and of its keyring), TABLES (each table's checksum) and LOCK. The file DAMAGED marks a known loss of
// rows. The file RESTORING marks an unfinished restore; only that restore may open the store.
//
// Invariants:
//  1. When Apply returns nil, the group is durable in the log, and snapshots see it. Nothing is acknowledged before
//     that. Any error stops all writing for good.
//  2. A group is stored completely or not at all, and only after the previous group. The group is one frame of the log. The
//     row that describes the group has the hash of the previous group. The rows of durable groups stay in memory until one
//     transaction of Badger writes the newest version of each row (flush.go). The memory holds at most as many rows as two
//     such transactions. Badger gets a group only after it is durable in the log. The log keeps the group until Badger's
//     tables have it.
//  3. A transaction of Badger has version 256n+1, where n is its last group. So the highest version in the tables tells which
//     groups the tables have. Version 1 has only the schema's row. The versions between those of two groups are for rows
//     whose values were moved (values_gc.go).
//  4. A value is returned only as it was stored: each stored value ends with a CRC-32C over its key and its bytes.
//  5. Every stored row is found, or Open refuses the store. Before Badger may change a file, Open checks every byte of every
//     table. Then Open walks the chain of groups back from the last one, over groups that have together four times as many
//     bytes as the memtables hold. The log must continue this chain. (examine.go lists kinds of damage and their
//     consequences.) Long values are in files beside the tables (package values). Their checksums differ from those of
//     content that an earlier process has written at the same places. Open checks the lengths of these files, and a reader
//     checks each value that it reads. After a start every byte of these files is checked once in the background
//     (values_gc.go). Damage is ignored only in values that no row needs. Open removes no file of values before the log is
//     replayed.
//  6. A failure of Badger's background work ends the store at once, and the process with it (Failed).
//     The next Open finds everything that was acknowledged, whatever a failed sync left behind.
//  7. Badger begins a write only if the disk has room for it.
//  8. A snapshot always shows the rows as they were after the same group, and never waits for a sync or for Badger's
//     writes.
//  9. A Loader copies rows from another store, and only Finish turns them into a store. The rows keep the versions of
//     the other store. Finish checks their chain of groups, and the log continues after their last group.
//  10. Reading an increment (a backup of the rows since an earlier backup) fails if a row was removed since then, unless
//     every increment contains all rows of that kind (IncludedInEveryIncrement).
//
// Callers: posting, snapshots, cmd/mizan (errors of Open).
//
// Rejected: one design would use a Badger transaction for each group. It was not chosen because each group would wait
// for Badger, and Badger would write a record's row for each change of the record. Badger's own Backup and Load were
// not chosen because a truncated backup is not detected (it has no end mark), and because a deletion is missed if
// compaction has dropped its row. Load also writes every row to logs and memtables again, which takes several times
// as long as making tables. Badger's own timestamps were not chosen because a new snapshot would wait for the current
// commit, and a version would not tell its group. Badger's own logs (SyncWrites) were not chosen because they take
// about three flushes a group, and the loss of one log leaves no visible gap. A cache of blocks was not chosen
// because it would save nothing: blocks are not compressed and are read directly from the mapped file.
package store
