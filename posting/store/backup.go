package store

import (
	"bytes"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"mizan/posting/store/damage"
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
	Group  uint64 // the group that wrote it; 0: it was written when the store was created
}

// StoredRows calls fn with the rows of a backup, in ascending order, beginning with the first key ≥
// from (nil: with the first of all), until fn returns false. These are all rows, or, if since is not 0,
// the rows written after that group and all rows of the kinds that are carried whole. The slices are
// valid until fn returns. Errors: *DamageError, or fn's.
//
// Badger keeps every table that an iterator has visited in memory, so a caller that reads much
// should call StoredRows again and again.
func (sn *Snapshot) StoredRows(from []byte, since uint64, fn func(StoredRow) (more bool, err error)) error {
	if err := sn.readable(); err != nil {
		return err
	}
	if since == 0 {
		_, err := sn.visitRows(nil, from, 0, fn)
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
		if more, err := sn.visitRows(prefix, from, after, fn); err != nil || !more {
			return err
		}
	}
	return nil
}

// visitRows visits the newest visible version of each row whose key has the prefix, if that version is
// newer than after (0: any version).
func (sn *Snapshot) visitRows(prefix, from []byte, after uint64, fn func(StoredRow) (bool, error)) (more bool, err error) {
	it := sn.txn.NewIterator(badger.IteratorOptions{AllVersions: true, Prefix: prefix, SinceTs: after})
	defer it.Close()
	var key []byte
	for it.Seek(from); it.Valid(); it.Next() {
		item := it.Item()
		if key != nil && bytes.Equal(item.Key(), key) {
			continue
		}
		key = append(key[:0], item.Key()...)
		if item.IsDeletedOrExpired() {
			if after > 0 {
				return false, damage.New("", "a row of kind %q was removed, which no increment could say", key[0])
			}
			continue
		}
		err := item.Value(func(stored []byte) error {
			if _, err := verifiedValue(key, stored); err != nil {
				return err
			}
			more, err = fn(StoredRow{Key: key, Stored: stored, Group: item.Version() - version(0)})
			return err
		})
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// RowCheck checks the rows of a store one by one, by ascending key: each row must equal what was
// stored, and the groups must be complete, each after its predecessor. The zero value has
// checked no row.
type RowCheck struct {
	last         []byte   // the key of the last row
	end          mark     // the last group row
	previousHash [32]byte // the hash of the group before it
	first        [32]byte // the hash of group 1
	newest       uint64   // the largest group number of any row
}

// Add checks the next row. Its errors mean that no store could have these rows.
func (c *RowCheck) Add(r StoredRow) error {
	switch {
	case len(r.Key) == 0 || len(r.Key) > MaxKey || len(r.Stored) > MaxValue+checksumSize:
		return fmt.Errorf("store: a row with a key of %d bytes and a value of %d", len(r.Key), len(r.Stored))
	case bytes.Compare(r.Key, c.last) <= 0:
		return fmt.Errorf("store: the row %.64x does not follow %.64x", r.Key, c.last)
	}
	value, err := verifiedValue(r.Key, r.Stored)
	if err != nil {
		return err
	}
	if r.Key[0] == prefixGroup {
		if err := c.group(r.Key, value); err != nil {
			return err
		}
	}
	c.last = append(c.last[:0], r.Key...)
	c.newest = max(c.newest, r.Group)
	return nil
}

// group checks the next group row of the chain.
func (c *RowCheck) group(key, value []byte) error {
	r, ok := parseGroupRow(value)
	if !ok || r.n != c.end.n+1 || !bytes.Equal(key, groupRowKey(r.n)) || r.previous != c.end.hash {
		return fmt.Errorf("store: group %d is missing, or does not follow group %d", c.end.n+1, c.end.n)
	}
	c.previousHash, c.end = c.end.hash, mark{r.n, r.hash()}
	if r.n == 1 {
		c.first = c.end.hash
	}
	return nil
}

// LastGroup returns the number and hash of the last group row; 0 and zeros if there was none.
func (c *RowCheck) LastGroup() (n uint64, hash [32]byte) { return c.end.n, c.end.hash }

// Schema is the version of the forms of rows that this release writes.
const Schema = schema
