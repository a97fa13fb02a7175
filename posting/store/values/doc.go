// Package values keeps the long values of a store's rows in files of their own, so that a row in Badger is small: a key and a
// Place. A value is written once when its row goes to Badger, and never moves with the tables that Badger merges.
//
// A file is a sequence of entries, each with a key and a stored value (entries.go). Values of rows that are never replaced (Lasting) and those of
// rows that may be (Replaceable) are in different files, because only the latter accumulate values that nobody needs any more.
//
// Invariants:
//  1. Flush returns after the entries are durable. The store writes their places to Badger only then.
//  2. The store has a row for each file, with its length, in the transaction of Badger that has the places. So Open knows from Badger's tables alone
//     which files there must be. A crash may leave bytes after a file's length, and files with higher numbers, from transactions that are not in the
//     tables. Such bytes are overwritten later, and such files are made again, or removed after the log is replayed, because the store's log has the
//     rows of these transactions.
//  3. Bytes within the length of a file never change. Each Flush fills its last block of 4 KiB, so no block with such bytes is written again, and a
//     torn write can't damage them. The row of a removed file stays, so a number that is in a table is never used again.
//  4. The checksums depend on the place and on random bytes, the epoch, which are new for each process that writes into a file and for each
//     file that is made; the file's row has them. So a start can write again where an earlier process has written, and what that process
//     left there, or a copy of it, is never taken for an entry.
//
// Reading is safe at any time; all other methods are called by one goroutine at a time, unless they say otherwise.
//
// Rejected: Badger's own value log. It is not synced before the table that points to it, and its garbage collection
// removes a file before its moved values are durable. Rejected: reading values from the store's log. Its frames hold each step of
// a record, so the log would keep about twice as many bytes. Rejected: new files at each start, which would need one epoch each; there would be
// as many small files as starts. Rejected: the checksum of each value beside its place in Badger; a pass over a file, which
// does not look up rows, would not notice an older copy of it.
package values
