package posting

import (
	"crypto/sha256"

	"mizan/posting/store"
)

// StoredRow is a row in its stored form, with the group that wrote it.
type StoredRow = store.StoredRow

// StoredRows calls fn with the rows of a backup of this moment, by ascending key, beginning with
// the first key that is not below from (nil: with the first of all). With a group since, it
// calls fn only with rows written after that group and with all rows of the kinds that can be
// removed. The slices are valid until fn returns.
func (v *View) StoredRows(from []byte, since uint64, fn func(StoredRow) (more bool, err error)) error {
	return v.snap.StoredRows(from, since, fn)
}

// LastGroup returns the number and hash of the last group in the view; 0 and zeros for a store
// without groups.
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

// GroupHash returns the hash of a group, to which the next group is chained; false if there is
// no group with that number.
func (v *View) GroupHash(n uint64) (hash [32]byte, found bool, err error) {
	row, found, err := v.snap.Get(store.KeyGroup(n), nil)
	if err != nil || !found {
		return hash, false, err
	}
	return sha256.Sum256(row), true, nil
}
