// Package badgerfile reads the files of Badger 4.9.6 without opening the store: tables (.sst) and the list of tables
// (MANIFEST). Badger trusts these files. It opens silently after it has lost the end of the list, deletes tables that a
// shortened list no longer contains, and stops with a stack trace at some damage. So the store examines every byte of
// them before Badger may change any file. The package knows nothing of the store's groups and rows.
//
// Invariants:
//  1. Examine changes nothing. Clean changes only what Examine has accepted.
//  2. Every byte of every listed table is covered by a checksum that Examine compares, and each block
//     is at its own offset of its own table.
//  3. Badger's write-ahead logs (.mem) are never read, because Badger does not sync them and the store has a log of its
//     own. Clean removes them.
//  4. A record of the list is left out only if the rows of its tables exist without it.
//  5. After Clean the list is on the disk, whatever happened to earlier syncs.
//  6. Examine checks a length that it reads from a table before it allocates memory for it: the length does not exceed
//     the file's size.
//  7. A compaction that announces more tables in Badger's log than it adds to the list is
//     noticed when it ends (CompactionAudit).
//
// The store's own file with the checksums of the tables is here too (Catalog), because it is
// compared with what Examine finds.
//
// Callers: posting/store.
//
// Rejected: Badger's own checks when it opens (VerifyValueChecksum, VerifyChecksum). They miss blocks in each other's
// places, and run after Badger has changed files. Also rejected: Badger's packages table and skl, which read these
// files too. They map whole files, and panic at damage.
package badgerfile
