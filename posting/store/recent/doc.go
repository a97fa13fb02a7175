// Package recent keeps the rows of the store's last groups in memory, until the rows of many groups are written to Badger at
// once. (The rows of a group become durable together. Badger is the store's database on disk.)
//
// The rows are in a skip list from Badger's package skl. As in Badger, each key in the skip list consists of a row's key and
// the version of the group that wrote the row, so that a snapshot of an earlier group does not see the rows of later ones. No
// row is ever removed: when Badger has the groups, the whole set is dropped.
//
// Invariants:
//  1. Readers see the newest version of each row up to the version that they ask for, even if rows are added
//     meanwhile.
//  2. The memory of a set of rows is allocated when the set is made. A group is added only if all of it fits.
//
// Callers: posting/store.
//
// Rejected: A map with a sorted copy for iterations was considered; it was not chosen because the first iteration after some
// thousand groups would have to sort their rows. Adding rows would cost half as much.
package recent
