package store

import (
	"bytes"
	"fmt"

	"mizan/posting/log"
	"mizan/posting/store/damage"
)

// removableKinds lists the kinds of rows that can be removed, and also prefixSingleRows, a kind with few rows. An increment
// (a backup of the rows that were written since an earlier backup) cannot show that a row was removed. So every increment
// contains all rows of these kinds, and a restore replaces all earlier rows of these kinds.
var removableKinds = []byte{prefixDue, prefixSingleRows, prefixKV, prefixSealed, prefixBuffer}

// IncludedInEveryIncrement tells whether every increment contains all rows of the kind to which this key belongs.
func IncludedInEveryIncrement(key []byte) bool {
	return len(key) > 0 && bytes.IndexByte(removableKinds, key[0]) >= 0
}

// StoredRow is a row as the store keeps it.
type StoredRow struct {
	Key    []byte
	Stored []byte // the value with its checksum
	Group  uint64 // the row has not changed after this group, which is not later than the snapshot's; 0: it has not changed since the store was created
}

// StoredRows calls fn with the rows of a backup, in ascending order of their keys, until fn returns false. It begins with the
// first key ≥ from. If from is nil, it begins with the first key of all. If since is 0, the backup contains all rows.
// Otherwise it is an increment. An increment contains the rows that were written after group since, and all rows for which
// IncludedInEveryIncrement returns true. The slices are valid until fn returns. StoredRows returns a *DamageError, or the
// error of fn.
//
// While an iterator is open, Badger keeps every table in memory that the iterator has visited. So a caller that reads many
// rows should call StoredRows several times, each time for a part of them.
func (sn *Snapshot) StoredRows(from []byte, since uint64, fn func(StoredRow) (more bool, err error)) error {
	if err := sn.checkReadable(); err != nil {
		return err
	}
	if since == 0 {
		_, err := sn.visitRows(nil, from, 0, ignoreDeletion, fn)
		return err
	}
	firstKind := 0
	if len(from) > 0 {
		firstKind = int(from[0])
	}
	for kind := firstKind; kind <= 0xff; kind++ {
		prefix, afterVersion := []byte{byte(kind)}, lastVersion(since)
		if IncludedInEveryIncrement(prefix) {
			afterVersion = 0
		}
		if bytes.Compare(from, prefix) < 0 {
			from = prefix
		}
		onDeletion := refuseDeletion
		if afterVersion == 0 {
			onDeletion = ignoreDeletion
		}
		if more, err := sn.visitRows(prefix, from, afterVersion, onDeletion, fn); err != nil || !more {
			return err
		}
	}
	return nil
}

func ignoreDeletion([]byte) error { return nil }

func refuseDeletion(key []byte) error {
	return damage.New("", "a row of kind %q was removed, which no increment could record", key[0])
}

// visitRows calls fn with the newest visible version of each row whose key is ≥ from and begins with prefix.
// It leaves out rows whose newest version is not above afterVersion. If a deletion is found above afterVersion, it calls
// onDeletion; but deletions can be missing, because compaction drops them.
func (sn *Snapshot) visitRows(prefix, from []byte, afterVersion uint64, onDeletion func(key []byte) error, fn func(StoredRow) (bool, error)) (more bool, err error) {
	m, err := sn.forward(prefix, from, afterVersion)
	if err != nil {
		return false, err
	}
	defer m.close()
	for ; m.current >= 0 && err == nil; err = m.next() {
		row := m.cursors[m.current]
		key := row.Key()
		switch {
		case key[0] == prefixValues: // not in a backup: the row describes a file of values in this directory
			continue
		case row.Version() <= afterVersion:
			continue
		case row.IsDeletion():
			if err := onDeletion(key); err != nil {
				return false, err
			}
			continue
		}
		stored, err := row.Stored()
		if err != nil {
			return false, err
		}
		if _, err := verifiedValue(key, stored); err != nil {
			return false, err
		}
		more, err := fn(StoredRow{Key: key, Stored: stored, Group: groupOf(row.Version())})
		if err != nil || !more {
			return false, err
		}
	}
	return true, err
}

// RowCheck checks the rows of a store, which the caller adds in ascending order of their keys. Each row must match its
// checksum. The group rows must form a chain without a gap, beginning with group 1. The zero value is ready for the first
// row.
type RowCheck struct {
	lastKey     []byte   // key of the row that was added last
	lastGroup   log.Mark // number and hash of the last group row
	newestGroup uint64   // the largest StoredRow.Group so far
}

// Add checks the next row. An error means that the rows cannot come from a store.
func (c *RowCheck) Add(r StoredRow) error {
	switch {
	case len(r.Key) == 0 || len(r.Key) > MaxKey || len(r.Stored) > MaxValue+checksumSize:
		return fmt.Errorf("store: a row with a key of %d bytes and a value of %d", len(r.Key), len(r.Stored))
	case r.Key[0] == prefixValues:
		return fmt.Errorf("store: a row %.64x of a file of values, which no backup has", r.Key)
	case bytes.Compare(r.Key, c.lastKey) <= 0:
		return fmt.Errorf("store: the row %.64x does not follow %.64x", r.Key, c.lastKey)
	}
	value, err := verifiedValue(r.Key, r.Stored)
	if err != nil {
		return err
	}
	if r.Key[0] == prefixGroup {
		if err := c.checkGroupRow(r.Key, value); err != nil {
			return err
		}
	}
	c.lastKey = append(c.lastKey[:0], r.Key...)
	c.newestGroup = max(c.newestGroup, r.Group)
	return nil
}

// checkGroupRow checks the next group row of the chain.
func (c *RowCheck) checkGroupRow(key, value []byte) error {
	r, ok := parseGroupRow(value)
	if !ok || r.n != c.lastGroup.N+1 || !bytes.Equal(key, groupRowKey(r.n)) || r.previous != c.lastGroup.Hash {
		return fmt.Errorf("store: group %d is missing, or does not follow group %d", c.lastGroup.N+1, c.lastGroup.N)
	}
	c.lastGroup = log.Mark{N: r.n, Hash: r.hash()}
	return nil
}

// LastGroup returns the number and the hash of the last group row. If there was none, it returns 0 and zeros.
func (c *RowCheck) LastGroup() (n uint64, hash [32]byte) { return c.lastGroup.N, c.lastGroup.Hash }

// Schema is the version of the row formats that this release writes.
const Schema = schema
