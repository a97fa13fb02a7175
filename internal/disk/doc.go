// Package disk defines the interfaces of a directory and of a file, and implements them with this machine's file system. These
// interfaces are used by the store's write-ahead log (posting/log) and by the store's files of long values
// (posting/store/values). They exist so that a simulation can lose, tear and reorder writes that were not synced.
//
// Invariants:
//  1. Written bytes are durable when File.Datasync returns nil. The creation, renaming and removal of files is durable when
//     Directory.Sync returns nil. After a crash or an error, any part of the changes that were not durable may be missing.
//  2. All blocks of a file are allocated when the file is created, so that a write within the file's size needs no further
//     space and no change of metadata.
//
// Callers: posting/log, posting/store, posting/store/values; bench/simulation implements Directory itself.
//
// Rejected: Using these interfaces for everything that the store does was considered. It was not chosen because Badger (the
// database library of the store) opens its files itself, and because the store's few other small files are replaced as a whole
// (package durable).
package disk
