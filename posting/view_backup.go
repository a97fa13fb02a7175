package posting

import (
	"crypto/sha256"

	"mizan/posting/store"
)

// StoredRow is a row as it lies in the store, with the group that wrote it.
type StoredRow = store.StoredRow

// StoredRows calls fn with the rows that a backup of this moment carries, by
// ascending key, from the first that is not below from (nil: all): every row, or,
// with a group since, what was written after it and the kinds of which rows are
// ever removed. The slices hold until fn returns.
func (v *View) StoredRows(from []byte, since uint64, fn func(StoredRow) (more bool, err error)) error {
	return v.snap.StoredRows(from, since, fn)
}

// LastGroup is the number and hash of the group that the view shows; 0 and zeros
// for a store without groups.
func (v *View) LastGroup() (n uint64, hash [32]byte, err error) {
	n = v.snap.Group()
	if n == 0 {
		return 0, hash, nil
	}
	hash, found, err := v.GroupHash(n)
	if err == nil && !found {
		err = damaged("group %d is missing", n)
	}
	return n, hash, err
}

// GroupHash is the hash of a group, by which what follows it is chained to it;
// false: there was none of that number.
func (v *View) GroupHash(n uint64) (hash [32]byte, found bool, err error) {
	row, found, err := v.snap.Get(store.KeyGroup(n), nil)
	if err != nil || !found {
		return hash, false, err
	}
	return sha256.Sum256(row), true, nil
}
