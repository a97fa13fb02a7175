package store

import (
	"bytes"
	"errors"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/assert"
)

// Badger's iterators parse two items ahead. By default they skip every deleted row on the way to the
// second item, so one backwards seek next to many deleted rows reads all these rows. With AllVersions a
// deleted row is an ordinary item, so only two items are read; but the iterator returns every version of
// a row, and the code below chooses the newest.

// maxVersionSteps is how many versions of one key are stepped over before a seek skips all further ones. A row
// that every group sets has one version for each group until compaction.
const maxVersionSteps = 4

// lowestKey is the smallest key.
var lowestKey = []byte{0}

// ascend calls fn with the newest visible version of each row whose key is ≥ from and begins with prefix, by
// ascending key. If fn returns a skipTo, ascend continues with the first key ≥ skipTo.
func (sn *Snapshot) ascend(prefix, from []byte, fn func(*badger.Item) (skipTo []byte, more bool, err error)) error {
	if err := sn.checkReadable(); err != nil {
		return err
	}
	it := sn.txn.NewIterator(badger.IteratorOptions{AllVersions: true, Prefix: prefix})
	defer it.Close()
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	var lastKey []byte // the last key that was handled
	steps := 0
	for it.Seek(from); it.Valid(); {
		item := it.Item()
		if lastKey != nil && bytes.Equal(item.Key(), lastKey) {
			if steps++; steps <= maxVersionSteps {
				it.Next()
			} else {
				it.Seek(append(lastKey, 0))
			}
			continue
		}
		lastKey, steps = append(lastKey[:0], item.Key()...), 0
		if item.IsDeletedOrExpired() {
			it.Next()
			continue
		}
		skipTo, more, err := fn(item)
		if err != nil || !more {
			return err
		}
		if skipTo == nil {
			it.Next()
			continue
		}
		assert.That(bytes.Compare(skipTo, lastKey) > 0, "a skip must go forward")
		it.Seek(skipTo)
	}
	return nil
}

// descend calls fn with the newest visible version of each row whose key is ≤ from (nil: any) and begins with
// prefix, by descending key. The slices are valid until fn returns.
func (sn *Snapshot) descend(prefix, from []byte, fn func(key, stored []byte) (more bool, err error)) error {
	if err := sn.checkReadable(); err != nil {
		return err
	}
	start, sharedPrefix, ok := descentStart(prefix, from)
	if !ok {
		return nil
	}
	it := sn.txn.NewIterator(badger.IteratorOptions{AllVersions: true, Reverse: true, Prefix: sharedPrefix})
	defer it.Close()
	it.Seek(start)
	var row backwardsRow
	for it.Valid() {
		if key := it.Item().Key(); !bytes.HasPrefix(key, prefix) {
			if bytes.Compare(key, prefix) < 0 {
				return nil
			}
			it.Next() // the first key after the prefix may itself exist
			continue
		}
		found, err := row.read(sn, it)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		if more, err := fn(row.key, row.stored); err != nil || !more {
			return err
		}
	}
	return nil
}

// backwardsRow holds the row that a backwards iterator has just passed.
type backwardsRow struct {
	key, stored []byte
}

// read reads the row at the iterator and moves the iterator to the next lower row. A backwards iterator
// sees a key's oldest version first. Most keys have one version; if a key has several, a lookup finds the
// newest. found is false if the row is deleted.
func (b *backwardsRow) read(sn *Snapshot, it *badger.Iterator) (found bool, err error) {
	item := it.Item()
	b.key = append(b.key[:0], item.Key()...)
	found = !item.IsDeletedOrExpired()
	if found {
		if b.stored, err = item.ValueCopy(b.stored); err != nil {
			return false, err
		}
	}
	it.Next()
	steps := 0
	for it.Valid() && bytes.Equal(it.Item().Key(), b.key) {
		if steps++; steps > maxVersionSteps && !bytes.Equal(b.key, lowestKey) {
			seekBelow(it, b.key)
			break
		}
		it.Next()
	}
	if steps == 0 {
		return found, nil
	}
	newest, err := sn.txn.Get(b.key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	b.stored, err = newest.ValueCopy(b.stored)
	return err == nil, err
}

// seekBelow moves a backwards iterator to the greatest stored key below key. Badger can only seek to a key at
// or below a given one, so seekBelow gives Badger the greatest possible key below key: of MaxKey bytes.
func seekBelow(it *badger.Iterator, key []byte) {
	n := len(key) - 1
	below := append(make([]byte, 0, MaxKey), key[:n]...)
	if key[n] > 0 {
		below = append(below, key[n]-1)
		for len(below) < MaxKey {
			below = append(below, 0xff)
		}
	}
	assert.That(len(below) > 0, "nothing is below the lowest key")
	it.Seek(below) // an empty key would mean the very end
}

// descentStart returns where a descent begins, and a prefix of all keys from there down to the sought ones; ok
// is false if no key can be sought. Badger's backwards seek needs a key at or above all sought keys. Without a
// usable from, descentStart returns the first key after the prefix; if a row has this key, the descent skips it.
func descentStart(prefix, from []byte) (start, sharedPrefix []byte, ok bool) {
	if from != nil && bytes.HasPrefix(from, prefix) {
		return from, prefix, true
	}
	if from != nil && bytes.Compare(from, prefix) < 0 {
		return nil, nil, false
	}
	i := len(prefix)
	for i > 0 && prefix[i-1] == 0xff {
		i--
	}
	if i == 0 {
		return nil, nil, true // no key comes after the prefix: begin at the very end
	}
	start = bytes.Clone(prefix[:i])
	start[i-1]++
	return start, prefix[:i-1], true
}

// checkReadable returns an error if the store is closed or is known to have lost rows.
func (sn *Snapshot) checkReadable() error {
	if sn.openedAfterClose {
		return ErrClosed
	}
	if err := sn.store.failure(); err != nil && isDamage(err) {
		return err
	}
	return nil
}

func isDamage(err error) bool {
	var d *DamageError
	return errors.As(err, &d)
}
