package store

import (
	"bytes"
	"errors"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/assert"
)

// A snapshot reads rows from up to three places: the recent groups; the groups before them, which are being written to
// Badger; and Badger. A cursor iterates over one place. A merge iterates over all of them.

// cursor iterates, in one direction, over those visible rows of one place whose keys begin with a prefix. The slices that it
// returns are valid until the cursor moves. A deleted row counts as a row, because it hides older rows with the same key in
// the other places.
type cursor interface {
	Valid() bool
	Key() []byte
	Version() uint64
	IsDeletion() bool
	Stored() ([]byte, error)
	Next() error
	Close()
}

// forwardCursor is a cursor in ascending order of the keys.
type forwardCursor interface {
	cursor
	Seek(key []byte) // moves to the first row whose key is ≥ key
}

// merge iterates over several places together. If several places have a row with the same key, merge returns the row of the
// first of these places.
type merge[C cursor] struct {
	cursors   []C
	direction int // 1: in ascending order of the keys; -1: in descending order
	current   int // index of the place that has the current row; -1 if there is no current row
}

// selectNext finds the place whose row comes next in the direction of the merge. This row becomes the current row.
func (m *merge[C]) selectNext() {
	m.current = -1
	for i, p := range m.cursors {
		if p.Valid() && (m.current < 0 || m.direction*bytes.Compare(p.Key(), m.cursors[m.current].Key()) < 0) {
			m.current = i
		}
	}
}

// next moves every place that has the current row's key past this key.
func (m *merge[C]) next() error {
	row := m.cursors[m.current]
	for i, p := range m.cursors {
		if i > m.current && p.Valid() && bytes.Equal(p.Key(), row.Key()) {
			if err := p.Next(); err != nil {
				return err
			}
		}
	}
	if err := row.Next(); err != nil {
		return err
	}
	m.selectNext()
	return nil
}

func (m *merge[C]) close() {
	for _, p := range m.cursors {
		p.Close()
	}
}

// forward returns a merge of the rows whose keys are ≥ from and begin with prefix. The merge leaves out those rows of Badger
// whose newest version is not above afterVersion.
func (sn *Snapshot) forward(prefix, from []byte, afterVersion uint64) (*merge[forwardCursor], error) {
	if bytes.Compare(from, prefix) < 0 {
		from = prefix
	}
	m := &merge[forwardCursor]{direction: 1}
	for _, rows := range sn.recent {
		m.cursors = append(m.cursors, rows.Forward(prefix, version(sn.n)))
	}
	m.cursors = append(m.cursors, sn.badgerForward(prefix, afterVersion))
	if err := seek(m, from); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// seek moves every place to its first row whose key is ≥ key.
func seek(m *merge[forwardCursor], key []byte) error {
	for _, p := range m.cursors {
		p.Seek(key)
		if b, ok := p.(*badgerForward); ok && b.err != nil {
			return b.err
		}
	}
	m.selectNext()
	return nil
}

// ascend calls fn with each row whose key is ≥ from and begins with prefix, in ascending order of the keys. If fn returns a
// skipTo, ascend continues with the first key ≥ skipTo.
func (sn *Snapshot) ascend(prefix, from []byte, fn func(row cursor) (skipTo []byte, more bool, err error)) error {
	if err := sn.checkReadable(); err != nil {
		return err
	}
	m, err := sn.forward(prefix, from, 0)
	if err != nil {
		return err
	}
	defer m.close()
	for m.current >= 0 {
		row := m.cursors[m.current]
		var skipTo []byte
		if !row.IsDeletion() {
			var more bool
			var err error
			if skipTo, more, err = fn(row); err != nil || !more {
				return err
			}
		}
		if skipTo != nil {
			assert.That(bytes.Compare(skipTo, row.Key()) > 0, "a skip must go forward")
			if err := seek(m, skipTo); err != nil {
				return err
			}
			continue
		}
		if err := m.next(); err != nil {
			return err
		}
	}
	return nil
}

// descend calls fn with each row whose key is ≤ from and begins with prefix, in descending order of the keys. If from is nil,
// it begins with the greatest of these keys. The slices are valid until fn returns.
func (sn *Snapshot) descend(prefix, from []byte, fn func(key, stored []byte) (more bool, err error)) error {
	if err := sn.checkReadable(); err != nil {
		return err
	}
	m := &merge[cursor]{direction: -1}
	for _, rows := range sn.recent {
		m.cursors = append(m.cursors, rows.Backward(prefix, from, version(sn.n)))
	}
	inBadger, err := sn.badgerBackward(prefix, from)
	if err != nil {
		return err
	}
	m.cursors = append(m.cursors, inBadger)
	defer m.close()
	m.selectNext()
	for m.current >= 0 {
		if row := m.cursors[m.current]; !row.IsDeletion() {
			stored, err := row.Stored()
			if err != nil {
				return err
			}
			if more, err := fn(row.Key(), stored); err != nil || !more {
				return err
			}
		}
		if err := m.next(); err != nil {
			return err
		}
	}
	return nil
}

// Badger's iterators read two items in advance. By default they skip every deleted row on the way to the second item, so one
// backwards seek near many deleted rows reads all these rows. With the option AllVersions a deleted row is an ordinary item,
// so only two items are read. But then the iterator returns every version of a row, so the code below must find the newest
// one.

// maxVersionSteps is the number of versions of a key that are read one by one. After that, a seek skips the remaining
// versions. A row that is set often has many versions until the next compaction.
const maxVersionSteps = 4

// lowestKey is the smallest key.
var lowestKey = []byte{0}

// badgerForward is a cursor over the rows in Badger, in ascending order of the keys. Of several versions of a row, Badger
// returns the newest first.
type badgerForward struct {
	store   *Store
	it      *badger.Iterator
	lastKey []byte
	value   []byte // memory for a value that is stored in a file of values
	err     error  // error of the last Seek
}

func (sn *Snapshot) badgerForward(prefix []byte, afterVersion uint64) *badgerForward {
	return &badgerForward{store: sn.store, it: sn.txn.NewIterator(badger.IteratorOptions{AllVersions: true, Prefix: prefix, SinceTs: afterVersion})}
}

func (c *badgerForward) Seek(key []byte) {
	defer c.store.failOnPanic(&c.err)
	c.it.Seek(key)
}

func (c *badgerForward) Next() (err error) {
	defer c.store.failOnPanic(&err)
	c.lastKey = append(c.lastKey[:0], c.Key()...)
	for steps := 0; c.it.Valid() && bytes.Equal(c.Key(), c.lastKey); steps++ {
		if steps <= maxVersionSteps {
			c.it.Next()
		} else {
			c.it.Seek(append(c.lastKey, 0))
		}
	}
	return nil
}

func (c *badgerForward) Valid() bool      { return c.it.Valid() }
func (c *badgerForward) Key() []byte      { return c.it.Item().Key() }
func (c *badgerForward) Version() uint64  { return c.it.Item().Version() }
func (c *badgerForward) IsDeletion() bool { return c.it.Item().IsDeletedOrExpired() }
func (c *badgerForward) Close()           { c.it.Close() }
func (c *badgerForward) Stored() (value []byte, err error) {
	item := c.it.Item()
	err = item.Value(func(stored []byte) error {
		value = stored
		return nil
	})
	if err == nil && item.UserMeta() == metaPlace {
		c.value, err = c.store.readPlace(item.Key(), value, c.value)
		value = c.value
	}
	return value, err
}

// badgerBackward is a cursor over the rows in Badger, in descending order of the keys. Of several versions of a row, Badger's
// backwards iterator returns the oldest first. So the cursor reads all versions of a row at once, and its iterator is always
// past the current row.
type badgerBackward struct {
	sn       *Snapshot
	it       *badger.Iterator
	prefix   []byte
	isValid  bool
	row, val []byte
	place    []byte // memory for the place of a value that is stored in a file of values
}

// badgerBackward returns a cursor at the greatest key that is ≤ from and begins with prefix. If from is nil, it is at the
// greatest key that begins with prefix.
func (sn *Snapshot) badgerBackward(prefix, from []byte) (*badgerBackward, error) {
	start, sharedPrefix, ok := descentStart(prefix, from)
	c := &badgerBackward{sn: sn, prefix: prefix}
	if !ok {
		return c, nil
	}
	c.it = sn.txn.NewIterator(badger.IteratorOptions{AllVersions: true, Reverse: true, Prefix: sharedPrefix})
	err := c.seek(start)
	if err == nil {
		err = c.Next()
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *badgerBackward) seek(start []byte) (err error) {
	defer c.sn.store.failOnPanic(&err)
	c.it.Seek(start)
	return nil
}

// Next moves to the row with the next lower key, and skips deleted rows.
func (c *badgerBackward) Next() (err error) {
	defer c.sn.store.failOnPanic(&err)
	c.isValid = false
	for !c.isValid && c.it.Valid() {
		if key := c.it.Item().Key(); !bytes.HasPrefix(key, c.prefix) {
			if bytes.Compare(key, c.prefix) < 0 {
				return nil
			}
			c.it.Next() // skip a key that comes after all keys with the prefix
			continue
		}
		if c.isValid, err = c.read(); err != nil {
			return err
		}
	}
	return nil
}

// read reads the row at the iterator, and moves the iterator to the next lower key. Most keys have only one version. If a key
// has several versions, read looks up the newest one. If the row is deleted, found is false.
func (c *badgerBackward) read() (found bool, err error) {
	item := c.it.Item()
	c.row = append(c.row[:0], item.Key()...)
	found = !item.IsDeletedOrExpired()
	meta := item.UserMeta()
	if found {
		if c.val, err = item.ValueCopy(c.val); err != nil {
			return false, err
		}
	}
	c.it.Next()
	steps := 0
	for c.it.Valid() && bytes.Equal(c.it.Item().Key(), c.row) {
		if steps++; steps > maxVersionSteps && !bytes.Equal(c.row, lowestKey) {
			seekBelow(c.it, c.row)
			break
		}
		c.it.Next()
	}
	if steps == 0 && found && meta == metaPlace { // the value of an older version is not read, because its file may have been removed
		c.place = append(c.place[:0], c.val...)
		c.val, err = c.sn.store.readPlace(c.row, c.place, c.val)
		return err == nil, err
	}
	if steps == 0 {
		return found, nil
	}
	newest, err := c.sn.txn.Get(c.row)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	c.val, err = c.sn.store.read(newest, c.val)
	return err == nil, err
}

func (c *badgerBackward) Valid() bool             { return c.isValid }
func (c *badgerBackward) Key() []byte             { return c.row }
func (c *badgerBackward) Version() uint64         { return c.sn.flushedGroup }
func (c *badgerBackward) IsDeletion() bool        { return false }
func (c *badgerBackward) Stored() ([]byte, error) { return c.val, nil }
func (c *badgerBackward) Close() {
	if c.it != nil {
		c.it.Close()
	}
}

// seekBelow moves a backwards iterator to the greatest stored key that is below key. Badger can only seek to the greatest key
// at or below a given key. So seekBelow computes the greatest possible key of MaxKey bytes that is below key, and seeks to
// this key.
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
	it.Seek(below) // below must not be empty, because Badger takes an empty key for the end of all keys
}

// descentStart returns the key at which a descent over the keys with the prefix begins. If from begins with the prefix, start
// is from. If from is nil or greater than every key with the prefix, start is the lowest possible key that is greater than all
// keys with the prefix, or nil if there is no such key. If a row has this key, the descent skips the row. sharedPrefix is a
// common prefix of start and the keys with the prefix. If from comes before all keys with the prefix, there is nothing to read,
// and ok is false.
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
		return nil, nil, true // no key is after the prefix, so the descent begins at the end of all keys
	}
	start = bytes.Clone(prefix[:i])
	start[i-1]++
	return start, prefix[:i-1], true
}

// checkReadable returns an error if the store was closed before the snapshot was opened, or if the store has lost rows.
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
