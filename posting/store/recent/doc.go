// Package recent keeps the rows of the store's last groups (the rows of a group become durable together) in memory,
// until many groups are written to Badger at once.
//
// The rows are in a skip list of Badger's, with the keys that Badger uses: a row's key and the version of its group, so that
// a snapshot of an earlier group does not see the rows of later ones. Nothing is ever removed: when Badger has the groups, the
// whole set is dropped.
//
// Invariants:
//  1. Readers see the newest version of each row up to the version that they ask for, whatever is added meanwhile.
//  2. The memory of a set is allocated when it is made. A group is added only if all of it fits.
//
// Callers: posting/store.
//
// Rejected: a map with a sorted copy for iterations. Adding costs half as much, but the first list that is read after some
// thousand groups has to sort their rows.
package recent
