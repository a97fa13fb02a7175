// Package disk defines the interfaces of a directory and a file that the log of groups and the files of long values use, and implements them with
// this machine's file system. The interfaces exist so that a simulation can lose, tear and reorder what was not synced.
//
// Invariants:
//  1. What a file's methods have written is durable when Datasync returns nil, and a change of names when Sync of the
//     directory does. After a crash or an error, any part of what was not durable may be there or be missing.
//  2. A created file has all its blocks, so that writing into it needs no space and no change of metadata.
//
// Callers: posting/log, posting/store, posting/store/values; bench/simulation has another directory.
//
// Rejected: a file system for everything that the store does. Badger opens its files itself, and the few small files beside it
// are replaced as a whole (package durable).
package disk
