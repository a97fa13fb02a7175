// Package values keeps the long values of a store's rows in separate files, so that the rows in the database Badger are
// small: such a row has only a key and a Place, which says where the value is. A value is written once, when its row is
// written to Badger. It is not written again when Badger merges tables.
//
// A file is a sequence of entries, each with a key and a stored value (entries.go). Values of rows that are never replaced
// (Lasting) and values of rows that may be replaced (Replaceable) are in different files, because only the latter files
// accumulate values that no row needs any more.
//
// Invariants:
//  1. Flush returns after the entries are durable. Only then does the store write the places of the entries to
//     Badger.
//  2. The store has a row for each file, with the file's length. One Badger transaction sets this row and the places of the
//     new entries, so Open knows from Badger's tables alone which files there must be. A crash may leave bytes after a file's
//     length, and files with higher numbers. Both come from transactions that are not in the tables; the rows of these
//     transactions are still in the store's log. These bytes are overwritten later. These files are created again, or are
//     removed after the replay of the log.
//  3. Bytes within the length of a file never change. Each Flush fills its last block of 4 KiB up. So no block with such
//     bytes is written again, and a torn write cannot damage them. The row of a removed file is kept, so the number of a file
//     to which a table may still refer is never used again.
//  4. The checksums depend on the place of the content and on random bytes, the epoch. Each process that writes into a file
//     has a new epoch for the file, and the file's row has all epochs. So a process may write where an earlier process has
//     written: old content, or a copy of old content, is never taken for an entry.
//
// Reading is safe at any time. All other methods are called by one goroutine at a time, unless their comments say
// otherwise.
//
// Callers: posting/store.
//
// Rejected: Badger's own value log was not chosen because it is not synced before the table that points to it, and its
// garbage collection removes a file before its moved values are durable. Reading values from the store's log was not chosen
// because the log has every version of a record, so it would keep about twice as many bytes. New files at each start, so that
// each file has only one epoch, were not chosen because there would be as many small files as starts. To store the checksum
// of each value with its place in Badger was not chosen: a scan of a file does not read rows, so it would not detect that the
// file was replaced by an older copy.
package values
