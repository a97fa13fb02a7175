// Package recent keeps in memory the rows that the store wrote last, until it writes many of them at once to Badger, its
// database on disk. Rows come in groups: the rows of a group become durable together.
//
// The rows are in a skip list from Badger's package skl. A key in the skip list consists of a row's key and the version of
// the group that wrote the row, like in Badger. So a snapshot does not see the rows of groups that were added later. Single
// rows are never removed: when Badger has all groups of a set, the whole set is dropped.
//
// Invariants:
//  1. A reader names a version, and sees the newest version of each row that is not above the named one, even if rows
//     are added meanwhile.
//  2. The memory of a set of rows is allocated when the set is made. A group is added only if all its rows fit.
//
// Callers: posting/store.
//
// Rejected: a map, with a sorted copy of the keys for iterations, was not chosen. Adding rows would cost half as much, but
// the first iteration after some thousand groups would have to sort all their rows.
package recent
