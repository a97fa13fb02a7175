// Package badgerfile reads the files of Badger 4.9.6 without opening the store: write-ahead logs
// (.mem), tables (.sst) and the list of tables (MANIFEST). Badger trusts these files. It opens silently
// after it has lost the end of a log, deletes tables that a shortened list no longer names, and stops
// with a stack trace at some damage. So the store examines every byte of them before Badger may change
// any file. The package knows nothing of the store except that group n has Badger version n+1, so that its
// messages can name groups.
//
// Invariants:
//  1. Examine changes nothing. Clean changes only what Examine has accepted.
//  2. Every byte of every listed table is covered by a checksum that Examine compares, and each block
//     is at its own offset of its own table.
//  3. The versions in the logs begin after the last version in the tables and have no gap. A log ends
//     before the first bytes that are not a complete transaction.
//  4. A record of the list is left out only if the rows of its tables exist without it.
//  5. After Clean the list and the logs are on the disk, whatever happened to earlier syncs.
//  6. A length that is read from a file is checked before memory is allocated for it: it exceeds neither
//     the file's size nor the maximum size of a row.
//  7. A compaction that announces more tables in Badger's log than it adds to the list is
//     noticed when it ends (CompactionAudit).
//
// The store's own file with the checksums of the tables is here too (Catalog), because it is
// compared with what Examine finds.
//
// Callers: posting/store.
//
// Rejected: Badger's own checks when it opens (VerifyValueChecksum, VerifyChecksum). They miss
// lost logs and blocks in each other's places, and run after Badger has changed files. Also rejected: Badger's
// packages table and skl, which read these files too. They map whole files, and panic at damage.
package badgerfile
