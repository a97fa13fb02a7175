// Package disk is what a log and files of long values need of a directory, as interfaces, and this machine's file system behind them.
// It exists so that a simulation can lose, tear and reorder what was not synced.
//
// Invariants:
//  1. What a file's methods have written is durable when Datasync returns nil, and a change of names when Sync of the
//     directory does. After a crash or an error anything may be there of what was not durable.
//  2. A created file has all its blocks, so that writing into it needs no space and no change of metadata.
//
// Callers: posting/log, posting/store, posting/store/values; bench/simulation has another directory.
//
// Rejected: a file system for everything that the store does. Badger opens its files itself, and the few small files beside it
// are replaced as a whole (package durable).
package disk
