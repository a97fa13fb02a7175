// Package badgerfile examines the files of the database Badger 4.9.6 without opening the database: tables (.sst) and
// the list of tables (MANIFEST). It does not interpret the rows that the store (posting/store) keeps in the tables.
//
// The store examines every byte of these files before Badger may change any file, because Badger trusts them. If the
// end of the list is missing, Badger opens without an error and deletes the tables that the shortened list no longer
// contains. Other damage makes Badger stop with a stack trace.
//
// Invariants:
//  1. Examine changes nothing. Clean changes only what Examine has accepted.
//  2. Examine compares a checksum of every byte of every listed table, and checks that each block is in the right
//     table at the right offset.
//  3. Badger's write-ahead logs (.mem) are never read, because Badger does not sync them and the store has a log of
//     its own. Clean removes these logs.
//  4. A record is left out of the list only if the rows of the record's tables also exist elsewhere.
//  5. After Clean the list of tables is durable, even if an earlier sync of the list has failed.
//  6. Before Examine allocates memory for a length that it has read from a table, it checks that the length does not
//     exceed the file's size.
//  7. A compaction (a merge of tables) is checked when it ends (CompactionAudit): it must have added as many tables to the
//     list as Badger's log messages have announced.
//
// This package also has TableChecksums, the store's own file with the checksums of the tables, because the file is
// compared with the tables that Examine finds.
//
// Callers: posting/store.
//
// Rejected: Badger's own checks at opening (VerifyValueChecksum, VerifyChecksum) were not chosen because they do not detect
// that two blocks were exchanged, and because they run after Badger has changed files. Badger's packages table and skl can
// read these files too. They were not chosen because they map whole files and panic at damage.
package badgerfile
