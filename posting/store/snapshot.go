package store

import (
	"bytes"
	"errors"
	"slices"
	"sort"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/assert"
)

// Snapshot reads the store as it was after one group, whatever is applied
// meanwhile. It is for one goroutine at a time, is closed exactly once, and is
// meant to live for one question: while it is open nothing that it can see is
// compacted away.
type Snapshot struct {
	store  *Store
	txn    *badger.Txn
	n      uint64
	late   bool // it was opened after the store was closed, and reads nothing
	closed bool
}

// Snapshot opens a view of the last durable group. It never waits for a sync.
func (s *Store) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.last.n
	if k := len(s.live); k > 0 && s.live[k-1].n == n {
		s.live[k-1].count++
	} else {
		s.live = append(s.live, liveReads{n: n, count: 1})
	}
	return &Snapshot{store: s, txn: s.db.NewTransactionAt(version(n), false), n: n, late: s.shut}
}

// Group is the number of the group that the snapshot shows.
func (sn *Snapshot) Group() uint64 { return sn.n }

// Close ends the snapshot.
func (sn *Snapshot) Close() {
	assert.That(!sn.closed, "a snapshot is closed twice")
	sn.closed = true
	sn.txn.Discard()
	s := sn.store
	s.mu.Lock()
	defer s.mu.Unlock()
	i := sort.Search(len(s.live), func(i int) bool { return s.live[i].n >= sn.n })
	if s.live[i].count--; s.live[i].count == 0 {
		s.live = slices.Delete(s.live, i, i+1)
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
	value, err = checked(key, stored)
	return value, err == nil, err
}

// Last returns the greatest key that begins with prefix and is not above upTo,
// and its value; the slices are the caller's. Errors: *DamageError.
func (sn *Snapshot) Last(prefix, upTo []byte) (key, value []byte, found bool, err error) {
	err = sn.Descend(prefix, upTo, func(k, v []byte) (bool, error) {
		key, value, found = bytes.Clone(k), bytes.Clone(v), true
		return false, nil
	})
	return key, value, found, err
}

// Ascend calls fn for every row whose key begins with prefix, in ascending
// order, from the first that is not below from (nil: from the beginning), until
// fn says that it wants no more. The slices hold until fn returns. Errors:
// *DamageError, or what fn returned.
func (sn *Snapshot) Ascend(prefix, from []byte, fn func(key, value []byte) (more bool, err error)) error {
	return sn.ascend(prefix, from, func(item *badger.Item) ([]byte, bool, error) {
		more, err := withValue(item, fn)
		return nil, more, err
	})
}

// AscendKeys is Ascend without the values. If skipTo is not nil the next key is
// the first that is not below it, which must be above the current one.
func (sn *Snapshot) AscendKeys(prefix, from []byte, fn func(key []byte) (skipTo []byte, more bool, err error)) error {
	return sn.ascend(prefix, from, func(item *badger.Item) ([]byte, bool, error) {
		return fn(item.Key())
	})
}

// Descend is Ascend backwards: from the greatest key that begins with prefix and
// is not above from (nil: from the end of the prefix).
func (sn *Snapshot) Descend(prefix, from []byte, fn func(key, value []byte) (more bool, err error)) error {
	return sn.descend(prefix, from, func(key, stored []byte) (bool, error) {
		value, err := checked(key, stored)
		if err != nil {
			return false, err
		}
		return fn(key, value)
	})
}

func withValue(item *badger.Item, fn func(key, value []byte) (bool, error)) (more bool, err error) {
	err = item.Value(func(stored []byte) error {
		value, err := checked(item.Key(), stored)
		if err == nil {
			more, err = fn(item.Key(), value)
		}
		return err
	})
	return more, err
}

// checked takes the checksum off a stored value.
func checked(key, stored []byte) ([]byte, error) {
	value, ok := openValue(key, stored)
	if !ok {
		return nil, damaged("", "the row %.64x does not match its checksum", key)
	}
	return value, nil
}
