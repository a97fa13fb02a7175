package store

import (
	"bytes"
	"errors"
	"slices"
	"sort"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/assert"
	"mizan/posting/store/damage"
	"mizan/posting/store/recent"
)

// Snapshot reads the store as it was after one group, even if later groups are applied meanwhile. Only one goroutine at a
// time may use a Snapshot, and it must be closed exactly once. It should live for one query only, because compaction can't
// drop any row that an open snapshot sees.
type Snapshot struct {
	store            *Store
	n                uint64          // number of the group
	txn              *badger.Txn     // reads from Badger
	flushedGroup     uint64          // number of the last group that Badger had when the snapshot was opened
	recent           []*recent.Rows  // rows of the groups after flushed, the newest groups first
	recentSpace      [2]*recent.Rows // memory for the slice recent
	buffer           []byte          // memory for the search in recent
	openedAfterClose bool            // opened after the store was closed: every read fails
	closed           bool
}

// Snapshot opens a snapshot of the store as it is after the last durable group. It never waits for a sync.
func (s *Store) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.flushedGroup
	if k := len(s.openSnapshots); k > 0 && s.openSnapshots[k-1].n == n {
		s.openSnapshots[k-1].count++
	} else {
		s.openSnapshots = append(s.openSnapshots, snapshotCount{n: n, count: 1})
	}
	sn := &Snapshot{store: s, n: s.last.N, txn: s.db.NewTransactionAt(lastVersion(n), false), flushedGroup: n, openedAfterClose: s.isShut}
	sn.recent = sn.recentSpace[:0]
	for _, rows := range [...]*recent.Rows{s.recent, s.full} {
		if rows != nil {
			sn.recent = append(sn.recent, rows)
		}
	}
	return sn
}

// GroupNumber returns the number of the snapshot's group.
func (sn *Snapshot) GroupNumber() uint64 { return sn.n }

// Close ends the snapshot.
func (sn *Snapshot) Close() {
	assert.That(!sn.closed, "a snapshot is closed twice")
	sn.closed = true
	sn.txn.Discard()
	s := sn.store
	s.mu.Lock()
	defer s.mu.Unlock()
	i := sort.Search(len(s.openSnapshots), func(i int) bool { return s.openSnapshots[i].n >= sn.flushedGroup })
	if s.openSnapshots[i].count--; s.openSnapshots[i].count == 0 {
		s.openSnapshots = slices.Delete(s.openSnapshots, i, i+1)
		if i == 0 {
			s.setDiscardVersion()
		}
	}
}

// Get returns the value of the row with this key. It uses the memory of dst if that is large enough. An error is a
// *DamageError.
func (sn *Snapshot) Get(key []byte, dst []byte) (value []byte, found bool, err error) {
	defer sn.store.failOnPanic(&err)
	if err := sn.checkReadable(); err != nil {
		return nil, false, err
	}
	for _, rows := range sn.recent {
		if row, found := rows.Get(key, version(sn.n), &sn.buffer); found {
			if row.IsDeletion {
				return dst[:0], false, nil
			}
			value, err = verifiedValue(key, append(dst[:0], row.Stored...))
			return value, err == nil, err
		}
	}
	item, err := sn.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return dst[:0], false, nil
	}
	if err != nil {
		return nil, false, err
	}
	stored, err := sn.store.read(item, dst)
	if err != nil {
		return nil, false, err
	}
	value, err = verifiedValue(key, stored)
	return value, err == nil, err
}

// Last returns the greatest key ≤ upTo that begins with prefix, and the value of its row. The caller may keep the slices. An
// error is a *DamageError.
func (sn *Snapshot) Last(prefix, upTo []byte) (key, value []byte, found bool, err error) {
	err = sn.Descend(prefix, upTo, func(k, v []byte) (bool, error) {
		key, value, found = bytes.Clone(k), bytes.Clone(v), true
		return false, nil
	})
	return key, value, found, err
}

// Ascend calls fn with every row whose key begins with prefix, in ascending order of the keys, until fn returns false. It
// begins with the first key ≥ from. If from is nil, it begins with the first of these keys. The slices are valid until fn
// returns. The error is a *DamageError, or the error of fn.
func (sn *Snapshot) Ascend(prefix, from []byte, fn func(key, value []byte) (more bool, err error)) error {
	return sn.ascend(prefix, from, func(row cursor) ([]byte, bool, error) {
		stored, err := row.Stored()
		if err != nil {
			return nil, false, err
		}
		value, err := verifiedValue(row.Key(), stored)
		if err != nil {
			return nil, false, err
		}
		more, err := fn(row.Key(), value)
		return nil, more, err
	})
}

// AscendKeys does the same as Ascend, but does not read the values. If fn returns a skipTo that is not nil, the iteration
// continues with the first key ≥ skipTo. skipTo must be above the current key.
func (sn *Snapshot) AscendKeys(prefix, from []byte, fn func(key []byte) (skipTo []byte, more bool, err error)) error {
	return sn.ascend(prefix, from, func(row cursor) ([]byte, bool, error) { return fn(row.Key()) })
}

// Descend does the same as Ascend, but in descending order of the keys. It begins with the greatest key ≤ from. If from is
// nil, it begins with the greatest key that begins with prefix.
func (sn *Snapshot) Descend(prefix, from []byte, fn func(key, value []byte) (more bool, err error)) error {
	return sn.descend(prefix, from, func(key, stored []byte) (bool, error) {
		value, err := verifiedValue(key, stored)
		if err != nil {
			return false, err
		}
		return fn(key, value)
	})
}

// verifiedValue verifies the checksum of a stored value, and returns the value without the checksum.
func verifiedValue(key, stored []byte) ([]byte, error) {
	value, ok := withoutChecksum(key, stored)
	if !ok {
		return nil, damage.New("", "the row %.64x does not match its checksum", key)
	}
	return value, nil
}
