// Package store keeps the rows of one data directory in Badger (a key-value store) and in a log of its own. A group is a set
// of rows that become durable together. The groups are numbered and become durable one after the other. A snapshot reads the
// rows as they were after one group. In this module only the packages store, recent and badgerfile import Badger. These
// packages exist because Badger handles a failing disk badly (badger.go lists its faults).
//
// The directory contains log/ (the log of groups, see posting/log), store/ (Badger's files and, in store/values/, the long
// values), IDENTITY (the identities of the store and of its keyring), TABLES (each table's checksum) and LOCK. The file
// DAMAGED marks a known loss of rows. The file RESTORING marks an unfinished restore; only that restore may open the store.
//
// Invariants:
//  1. When Apply returns nil, the group is durable in the log, and snapshots see it. Nothing is acknowledged before
//     that. Any error stops all writing for good.
//  2. A group is stored completely or not at all, and only after the previous group. The group is one frame of the log. The
//     row that describes the group contains the hash of the previous group. The rows of durable groups stay in memory until
//     one transaction of Badger writes the newest version of each row (flush.go). At most the rows of two such transactions
//     are in memory. A group is written to Badger only after it is durable in the log. The log keeps the group until Badger's
//     tables have it.
//  3. If n is the last group that a transaction of Badger writes, the transaction has version 256n+1. So the highest version
//     in the tables tells which groups the tables have. Only the schema's row has version 1. The versions between 256n+1 and
//     256(n+1)+1 are for rows whose values were moved (values_gc.go).
//  4. A value is returned only as it was stored: each stored value ends with a CRC-32C over its key and its bytes.
//  5. Every stored row is found, or Open refuses the store. Before Badger may change a file, Open checks every byte of every
//     table. Then Open follows the chain of groups backwards from the last group, over four times as many bytes of groups as
//     the memtables hold. The log must continue this chain. (examine.go lists kinds of damage and their consequences.) Long
//     values are in files beside the tables (package values). If an earlier process has written other content at the same
//     place of such a file, that content has other checksums. Open checks the lengths of these files, and a reader checks
//     each value that it reads. After a start every byte of these files is checked once in the background (values_gc.go).
//     Damage is ignored only in values that no row needs. Open removes no file of values before the log is replayed.
//  6. A failure of Badger's background work ends the store at once, and the process with it (Failed).
//     The next Open finds everything that was acknowledged, whatever a failed sync left behind.
//  7. Badger begins a write only if the disk has room for it.
//  8. A snapshot always shows the rows as they were after the same group, and never waits for a sync or for Badger's
//     writes.
//  9. A Loader copies rows from another store, and only Finish turns them into a store. The rows keep the versions that they
//     had in the other store. Finish checks the chain of the copied groups, and the new log begins after the last of them.
//  10. Reading an increment (a backup of the rows since an earlier backup) fails if a row was removed since then, unless
//     every increment contains all rows of that kind (IncludedInEveryIncrement).
//
// Callers: posting, snapshots, cmd/mizan (errors of Open).
//
// Rejected: Each group could be one Badger transaction. But then each group would wait for Badger, and Badger would write a
// record's row again for each change of the record. Badger's own Backup and Load were not chosen for two reasons: a backup
// has no end mark, so a truncated one is not detected, and an increment misses a deletion if compaction has already dropped
// the deleted row. Load also writes every row to logs and memtables again, which takes several times as long as making
// tables. Badger's own timestamps were not chosen because a new snapshot would wait for the current commit, and a row's
// version would not show which group wrote it. Badger's own logs (SyncWrites) were not chosen because they need about three
// flushes for each group, and the loss of a log leaves no gap that Open could detect. A cache of blocks was not chosen
// because it would save nothing: blocks are not compressed and are read directly from the mapped file.
package store
