package store

import (
	"bytes"
	"errors"
	"slices"
	"sort"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/assert"
	"mizan/posting/store/damage"
)

// Snapshot reads the store as it was after one group, whatever is applied meanwhile. One goroutine at a
// time may use it, and it must be closed exactly once. It should live for one query only, because while
// it is open compaction can't drop any row that the snapshot sees.
type Snapshot struct {
	store      *Store
	txn        *badger.Txn
	n          uint64
	openedLate bool // opened after the store was closed: every read fails
	closed     bool
}

// Snapshot opens a view of the last durable group. It never waits for a sync.
func (s *Store) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.last.n
	if k := len(s.openSnapshots); k > 0 && s.openSnapshots[k-1].n == n {
		s.openSnapshots[k-1].count++
	} else {
		s.openSnapshots = append(s.openSnapshots, liveReads{n: n, count: 1})
	}
	return &Snapshot{store: s, txn: s.db.NewTransactionAt(version(n), false), n: n, openedLate: s.isShut}
}

// Group returns the number of the snapshot's group.
func (sn *Snapshot) Group() uint64 { return sn.n }

// Close ends the snapshot.
func (sn *Snapshot) Close() {
	assert.That(!sn.closed, "a snapshot is closed twice")
	sn.closed = true
	sn.txn.Discard()
	s := sn.store
	s.mu.Lock()
	defer s.mu.Unlock()
	i := sort.Search(len(s.openSnapshots), func(i int) bool { return s.openSnapshots[i].n >= sn.n })
	if s.openSnapshots[i].count--; s.openSnapshots[i].count == 0 {
		s.openSnapshots = slices.Delete(s.openSnapshots, i, i+1)
		if i == 0 {
			s.discard()
		}
	}
}

// Get returns the value of a key, appended to dst[:0]. Errors: *DamageError.
func (sn *Snapshot) Get(key []byte, dst []byte) (value []byte, found bool, err error) {
	if err := sn.readable(); err != nil {
		return nil, false, err
	}
	item, err := sn.txn.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return dst[:0], false, nil
	}
	if err != nil {
		return nil, false, err
	}
	stored, err := item.ValueCopy(dst[:0])
	if err != nil {
		return nil, false, err
	}
	value, err = verifiedValue(key, stored)
	return value, err == nil, err
}

// Last returns the greatest key ≤ upTo that begins with prefix, and its value. The caller owns the
// slices. Errors: *DamageError.
func (sn *Snapshot) Last(prefix, upTo []byte) (key, value []byte, found bool, err error) {
	err = sn.Descend(prefix, upTo, func(k, v []byte) (bool, error) {
		key, value, found = bytes.Clone(k), bytes.Clone(v), true
		return false, nil
	})
	return key, value, found, err
}

// Ascend calls fn for every row whose key begins with prefix, in ascending order, beginning with the
// first key ≥ from (nil: with the first of all), until fn returns false. The slices are valid until fn
// returns. Errors: *DamageError, or fn's.
func (sn *Snapshot) Ascend(prefix, from []byte, fn func(key, value []byte) (more bool, err error)) error {
	return sn.ascend(prefix, from, func(item *badger.Item) ([]byte, bool, error) {
		more, err := withValue(item, fn)
		return nil, more, err
	})
}

// AscendKeys is Ascend without the values. If fn returns a skipTo that is not nil, the iteration
// continues with the first key ≥ skipTo, which must be above the current key.
func (sn *Snapshot) AscendKeys(prefix, from []byte, fn func(key []byte) (skipTo []byte, more bool, err error)) error {
	return sn.ascend(prefix, from, func(item *badger.Item) ([]byte, bool, error) {
		return fn(item.Key())
	})
}

// Descend is Ascend backwards, beginning with the greatest key ≤ from that begins with prefix (nil:
// with the last).
func (sn *Snapshot) Descend(prefix, from []byte, fn func(key, value []byte) (more bool, err error)) error {
	return sn.descend(prefix, from, func(key, stored []byte) (bool, error) {
		value, err := verifiedValue(key, stored)
		if err != nil {
			return false, err
		}
		return fn(key, value)
	})
}

func withValue(item *badger.Item, fn func(key, value []byte) (bool, error)) (more bool, err error) {
	err = item.Value(func(stored []byte) error {
		value, err := verifiedValue(item.Key(), stored)
		if err == nil {
			more, err = fn(item.Key(), value)
		}
		return err
	})
	return more, err
}

// verifiedValue returns a stored value without its checksum, after verifying it.
func verifiedValue(key, stored []byte) ([]byte, error) {
	value, ok := openValue(key, stored)
	if !ok {
		return nil, damage.New("", "the row %.64x does not match its checksum", key)
	}
	return value, nil
}
