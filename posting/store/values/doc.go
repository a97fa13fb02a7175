// Package values keeps the long values of a store's rows in separate files, so that the rows in Badger, the store's
// database, stay small: instead of the value, a row has a Place, which says where the value is. A value is written
// once, when its row is written to Badger, and not again when Badger merges tables.
//
// A file is a sequence of entries, each with a key and a stored value (entries.go). Rows that are never replaced (Permanent)
// and rows that may be replaced (Replaceable) have their values in different files, because only files of replaceable rows
// accumulate values that no row needs any more.
//
// Invariants:
//  1. When Flush returns, the entries are durable. The store writes the places of entries to Badger only after that.
//  2. The store has a row for each file, with the file's length. One Badger transaction sets this row and the places of the
//     new entries, so Open knows from Badger's tables alone which files must exist. A crash may leave bytes after the end
//     that a file's row states, and files that no row lists. They come from transactions that are not in the tables, but
//     whose rows are still in the store's log. So such bytes are overwritten later, and such files are created again, or
//     removed after the replay of the log.
//  3. Bytes within the length of a file never change. Each Flush pads its last block to 4 KiB. So a block that has such bytes
//     is never written again, and a torn write cannot damage them. The row of a removed file is kept, so that the file's
//     number is never used again: a table may still refer to the number.
//  4. A checksum depends on the content, on its place, and on random bytes, the epoch. Each process that writes to a file
//     chooses a new epoch, and the file's row has all epochs. So a process may overwrite what an earlier process has left:
//     old content, or a copy of old content, is never mistaken for an entry.
//
// Values can be read by any goroutine at any time. All other methods must be called by one goroutine at a time,
// unless their comments say otherwise.
//
// Callers: posting/store.
//
// Rejected: Badger's own value log was not chosen because it is not synced before the table that points to it, and its
// garbage collection removes a file before its moved values are durable. Reading values from the store's log was not chosen
// because the log has every version of a record, so it would keep about twice as many bytes. Starting new files in each
// process, so that each file has only one epoch, was not chosen because it would leave as many small files as there were
// starts. Storing the checksum of each value beside its place in Badger was not chosen because a scan of a file does not read
// rows, so the scan would not detect that the file was replaced by an older copy.
package values
