// Package disk defines the interfaces of a directory and of a file, and implements them with this machine's file system. The
// store's write-ahead log (posting/log) and its files of long values (posting/store/values) use them. The interfaces exist so
// that a simulation can lose, tear and reorder writes that were not synced.
//
// Invariants:
//  1. Written bytes are durable when File.Datasync returns nil. The creation, renaming and removal of files is durable when
//     Directory.Sync returns nil. After a crash or an error, any part of the changes that were not durable may be missing.
//  2. A created file has all its blocks, so that a write within its size needs no further space and no change of
//     metadata.
//
// Callers: posting/log, posting/store, posting/store/values; bench/simulation implements Directory itself.
//
// Rejected: another design would put these interfaces under everything that the store does. It was not chosen because Badger
// (the database library of the store) opens its files itself, and because the store's few other small files are replaced as a
// whole (package durable).
package disk
