// Package store keeps the rows of one data directory: groups become durable one
// after the other, snapshots read them. It is the only importer of Badger, and
// it exists because of what Badger does when a disk fails.
//
// The directory holds store/ (Badger), HEAD (the last durable group), IDENTITY (which
// store it is, and which keyring's), TABLES (which table is which), LOCK and, if rows are known to be lost, DAMAGED; if a restore
// has not finished it, RESTORING, and only that opens it.
//
// Invariants:
//  1. When Apply returns nil the group is on the disk and HEAD knows it; an
//     earlier answer never leaves. Any error stops all writing for good.
//  2. A group is there wholly or not at all, and after its predecessor: it is
//     one Badger transaction, and its row holds the hash of the group before.
//  3. Group n's rows have Badger version n+1. Version 1 is the schema.
//  4. A value that is returned is the value that was stored: each ends with a
//     CRC-32C over its key and itself.
//  5. A row that was stored is found, or Open refuses the store. Before Badger
//     may change a file, every byte of every table and log is checked, and the
//     versions in the logs must follow without a gap from those in the tables to
//     the one that HEAD knows. Then the chain of groups is walked back, for twice
//     what memtables hold.
//  6. A failure of Badger's own work ends the store at once, and the process (Failed).
//     The next Open finds everything that was acknowledged, whatever a failed sync left.
//  7. Badger never begins to write what the disk may have no room for.
//  8. A snapshot shows one group for ever, and never waits for a sync.
//  9. What a Loader was given is a store after Finish, and not before: the same rows
//     with the same versions, the chain of groups followed, HEAD at its end.
//  10. An increment over a row that was removed, of a kind that is not carried whole,
//     is an error.
//
// What damage does, file by file (the tests try each):
//
//	HEAD          one slot: harmless, the other is enough. Both, or stale: refused.
//	IDENTITY      harmless, it is made anew. Another store's: refused, as is a directory
//	              without a store in which it, or TABLES, is left.
//	TABLES        harmless, it is made anew (then no table is compared with it).
//	LOCK          harmless, only its lock counts. If it is deleted while a process
//	              has the store open, Badger's own lock keeps a second one from
//	              changing anything.
//	MANIFEST      refused, but for a torn end that names nothing that is needed. A record
//	              whose tables Badger has taken back is left out if what it stood for is
//	              still there (list.go).
//	.sst          refused.
//	.mem          refused if an acknowledged group is not whole; what stands behind
//	              the last one is cut off. A log whose groups are all in tables is
//	              deleted unread: replayed, it could bring back deleted rows.
//	KEYREGISTRY, DISCARD, .vlog   deleted at each opening: they hold nothing here
//	              (no encryption, no value longer than a table takes).
//
// Not noticed: an older state of the whole directory put back (nothing outside
// of it is left to disagree), and damage that a running process meets in the
// index of a table (a damaged value it does notice; the next start notices all).
//
// Badger's own failures that are answered here: it opens without a word after it
// lost the end of a log or of its list; it deletes tables that a shortened list
// no longer names; it goes on after a failed append to that list, and corrupts
// it; after a failed sync of the list it deletes the tables that it has just named there
// (badgerLog, list.go); it drops the error, and the rows, when a compaction cannot make a table
// (compactionAudit, gate); it never syncs the name of a new log (rotated); it cannot open
// an empty log, which a crash leaves behind; a full disk kills it (space.go).
//
// Callers: posting, snapshots, cmd/mizan for the errors of Open.
//
// Rejected: Badger's own Backup and Load. What it writes has no end that would tell a
// whole one, and misses deletions that compaction has made; what it loads goes through
// logs and memtables once more, which takes several times as long as making tables.
//
// Rejected: Badger's own timestamps. A new snapshot would wait for the commit
// that is under way, and versions would say nothing about groups. Rejected too:
// SyncWrites off with a sync of our own, which saves a flush of 60 µs a group
// and would tie us to how Badger switches logs; blocks cached in memory, for
// without compression they are read from the mapped file as they are.
package store
