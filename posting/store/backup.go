package store

import (
	"bytes"

	"github.com/dgraph-io/badger/v4"
)

// wholeKinds lists the kinds of rows that can be removed, and the store's own marks, which are
// few. An increment cannot show that a row was removed, so it contains all rows of these kinds,
// and they replace the earlier ones.
var wholeKinds = []byte{prefixDue, prefixMark, prefixKV, prefixSealed, prefixBuffer}

// CarriedWhole tells whether every increment contains all rows of the key's kind.
func CarriedWhole(key []byte) bool { return len(key) > 0 && bytes.IndexByte(wholeKinds, key[0]) >= 0 }

// StoredRow is a row in its stored form.
type StoredRow struct {
	Key    []byte
	Stored []byte // the value with its checksum
	Group  uint64 // the group that wrote it; 0: it is as old as the store
}

// StoredRows calls fn with the rows of a backup, in ascending order, beginning with the first
// key that is not below from (nil: with the first of all), until fn returns false. These are all
// rows, or, with a group since, the rows written after that group and all rows of the kinds that
// are carried whole. The slices are valid until fn returns. Errors: *DamageError, or fn's.
//
// Badger keeps every table that an iterator has visited in memory, so a caller that reads much
// should call StoredRows again and again.
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

// stored visits the newest visible version of each row that has the prefix and is newer than
// after; 0: any version.
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

// Schema is the version of the forms of rows that this release writes.
const Schema = schema
