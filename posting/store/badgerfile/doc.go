// Package badgerfile examines the files of the database Badger 4.9.6 without opening the database: tables (.sst) and
// the list of tables (MANIFEST). It knows nothing of what the store (posting/store) keeps in them.
//
// The store examines every byte of these files before Badger may change any file, because Badger trusts them. Badger
// opens silently after it has lost the end of the list, deletes tables that a shortened list no longer contains, and
// stops with a stack trace at some damage.
//
// Invariants:
//  1. Examine changes nothing. Clean changes only what Examine has accepted.
//  2. Every byte of every listed table is covered by a checksum that Examine compares, and each block
//     is at its own offset of its own table.
//  3. Badger's write-ahead logs (.mem) are never read, because Badger does not sync them and the store has a log of
//     its own. Clean removes these logs.
//  4. A record of the list is left out only if the rows of its tables also exist elsewhere.
//  5. After Clean the list of tables is durable, even if an earlier sync of it has failed.
//  6. Examine checks a length that it reads from a table before it allocates memory for it. The length must not
//     exceed the file's size.
//  7. A compaction (a merge of tables) is checked when it ends (CompactionAudit). The check finds out whether Badger's log
//     messages announced more tables than the compaction has added to the list.
//
// The store's own file with the checksums of the tables is here too (TableChecksums), because it is
// compared with the tables that Examine finds.
//
// Callers: posting/store.
//
// Rejected: Another design would use Badger's own checks when it opens (VerifyValueChecksum, VerifyChecksum). It was not
// chosen because these checks do not detect that two blocks were exchanged, and run after Badger has changed files. Badger's
// packages table and skl, which read these files too, were not chosen because they map whole files and panic at damage.
package badgerfile
