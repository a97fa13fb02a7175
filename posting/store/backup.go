package store

import (
	"bytes"

	"github.com/dgraph-io/badger/v4"
)

// wholeKinds are the kinds of rows that are ever removed, and the store's own
// marks, which are few. What was removed cannot be told from a row that did not
// change, so an increment carries these kinds whole, and they replace what there
// was of them.
var wholeKinds = []byte{prefixDue, prefixMark, prefixKV, prefixSealed, prefixBuffer}

// CarriedWhole tells whether every increment has all rows of the key's kind.
func CarriedWhole(key []byte) bool { return len(key) > 0 && bytes.IndexByte(wholeKinds, key[0]) >= 0 }

// StoredRow is a row as it lies in the store.
type StoredRow struct {
	Key    []byte
	Stored []byte // the value with its checksum
	Group  uint64 // that wrote it; 0: it is as old as the store
}

// StoredRows calls fn with the rows that a backup carries, in ascending order,
// from the first that is not below from (nil: from the beginning), until fn says
// that it wants no more. That is all of them, or, with a group since, all that
// was written after it and the kinds that are carried whole. The slices hold
// until fn returns. Errors: *DamageError, or what fn returned.
//
// Badger keeps every table that an iterator has seen, so whoever reads much calls
// it again and again.
func (sn *Snapshot) StoredRows(from []byte, since uint64, fn func(StoredRow) (more bool, err error)) error {
	if err := sn.readable(); err != nil {
		return err
	}
	if since == 0 {
		_, err := sn.stored(nil, from, 0, fn)
		return err
	}
	first := 0
	if len(from) > 0 {
		first = int(from[0])
	}
	for kind := first; kind <= 0xff; kind++ {
		prefix, after := []byte{byte(kind)}, version(since)
		if CarriedWhole(prefix) {
			after = 0
		}
		if bytes.Compare(from, prefix) < 0 {
			from = prefix
		}
		if more, err := sn.stored(prefix, from, after, fn); err != nil || !more {
			return err
		}
	}
	return nil
}

// stored visits the newest visible version of each row with the prefix that is
// newer than after; 0: of any age.
func (sn *Snapshot) stored(prefix, from []byte, after uint64, fn func(StoredRow) (bool, error)) (more bool, err error) {
	it := sn.txn.NewIterator(badger.IteratorOptions{AllVersions: true, Prefix: prefix, SinceTs: after})
	defer it.Close()
	var seen []byte
	for it.Seek(from); it.Valid(); it.Next() {
		item := it.Item()
		if seen != nil && bytes.Equal(item.Key(), seen) {
			continue
		}
		seen = append(seen[:0], item.Key()...)
		if item.IsDeletedOrExpired() {
			if after > 0 {
				return false, damaged("", "a row of kind %q was removed, which no increment could say", seen[0])
			}
			continue
		}
		err := item.Value(func(stored []byte) error {
			if _, err := checked(seen, stored); err != nil {
				return err
			}
			more, err = fn(StoredRow{Key: seen, Stored: stored, Group: item.Version() - version(0)})
			return err
		})
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// Schema is the version of the rows' forms that this release writes.
const Schema = schema
