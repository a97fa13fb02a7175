package recent

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"

	"github.com/dgraph-io/badger/v4/skl"
	"github.com/dgraph-io/badger/v4/y"

	"mizan/internal/assert"
)

// Rows is a set of rows from consecutive groups. If several groups set a row, the set has a version of the row for each
// group. One goroutine may add groups while any number of goroutines read.
type Rows struct {
	list   *skl.Skiplist // rows in the order of their versioned keys
	size   Size
	max    Size
	memory int    // the list's nodes take at most this many bytes
	key    []byte // buffer for the versioned key of the row being added
}

// Size is a number of rows and of their bytes, as the store counts them.
type Size struct{ Rows, Bytes int }

func (s Size) plus(t Size) Size { return Size{s.Rows + t.Rows, s.Bytes + t.Bytes} }

// Row is the change that a group makes to one row: a new value, or a deletion.
type Row struct {
	Key, Stored []byte // the row's key, and its value in stored form
	IsDeletion  bool
}

// Values of Meta in Badger's ValueStruct.
const (
	metaSet    = 0
	metaDelete = 1
)

// New returns an empty set of rows. The set never has more rows or bytes than max. It has enough memory for max.Bytes of
// ordinary rows, and for a group of the size first even if its rows are very short.
func New(max Size, first Size) *Rows {
	const head = 2 * skl.MaxNodeSize // bytes of an empty list, which has one node
	r := &Rows{max: max, memory: head + first.memory()}
	if ordinary := max.Bytes + max.Bytes/4; r.memory < ordinary { // enough for rows of ordinary length
		r.memory = ordinary
	}
	r.list = skl.NewSkiplist(int64(r.memory + skl.MaxNodeSize)) // the unused end of the last node may lie beyond r.memory
	return r
}

// memory returns an upper bound of the memory that rows of this size take in the list.
func (s Size) memory() int {
	// For each row the list allocates a node, whose size varies, and its alignment; the version in the key; and a few bytes
	// before the value.
	const perRow = skl.MaxNodeSize + 8 + 8 + 12
	return s.Bytes + s.Rows*perRow
}

// Size returns the total size of all groups in the set.
func (r *Rows) Size() Size { return r.size }

// Fits tells whether a group of this size can be added.
func (r *Rows) Fits(group Size) bool {
	sum := r.size.plus(group)
	return sum.Rows <= r.max.Rows && sum.Bytes <= r.max.Bytes && int(r.list.MemSize())+group.memory() <= r.memory
}

// Add adds the rows of a group with the group's version. Before the call, Fits must have returned true for the group. Readers
// of earlier versions do not see these rows. If the group sets a row twice, the later value counts.
func (r *Rows) Add(version uint64, size Size, rows iter.Seq[Row]) {
	assert.That(r.Fits(size), "a group of %d rows does not fit", size.Rows)
	for row := range rows {
		r.key = appendVersioned(r.key[:0], row.Key, version)
		value := y.ValueStruct{Meta: metaSet, Value: row.Stored}
		if row.IsDeletion {
			value = y.ValueStruct{Meta: metaDelete}
		}
		r.list.Put(r.key, value)
	}
	r.size = r.size.plus(size)
}

// appendVersioned appends a key and a version to dst. Like in Badger, higher versions of a key sort before lower
// ones.
func appendVersioned(dst, key []byte, version uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, key...), math.MaxUint64-version)
}

// Versions that no row has: beforeVersions sorts before all versions of a key, and behindVersions sorts after them.
const (
	beforeVersions = math.MaxUint64
	behindVersions = 0
)

// Get returns the row's newest version that is not above upTo. If there is no such version, found is false. Get uses buffer
// as scratch memory.
func (r *Rows) Get(key []byte, upTo uint64, buffer *[]byte) (row Row, found bool) {
	value, found := r.get(key, upTo, buffer)
	return Row{Key: key, Stored: value.Value, IsDeletion: value.Meta == metaDelete}, found
}

func (r *Rows) get(key []byte, upTo uint64, buffer *[]byte) (value y.ValueStruct, found bool) {
	*buffer = appendVersioned((*buffer)[:0], key, upTo)
	value = r.list.Get(*buffer)
	return value, value.Version != 0
}

// Newest returns the newest version of every row, in ascending order of the keys.
func (r *Rows) Newest() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		it := r.list.NewIterator()
		defer func() { _ = it.Close() }() // counts references only
		var last []byte
		for it.SeekToFirst(); it.Valid(); it.Next() {
			key := y.ParseKey(it.Key())
			if last != nil && bytes.Equal(key, last) {
				continue // an older version of the same row
			}
			last = key
			value := it.Value()
			if !yield(Row{Key: key, Stored: value.Value, IsDeletion: value.Meta == metaDelete}) {
				return
			}
		}
	}
}

// Forward iterates over rows in ascending order of their keys. The slices that it returns stay valid as long as the Rows
// exist.
type Forward struct {
	it     *skl.Iterator
	prefix []byte
	upTo   uint64 // versions above this one are skipped
	buffer []byte
}

// Forward returns an iterator over the rows whose keys begin with prefix. For each row the iterator shows the newest
// version that is not above upTo. The caller must first call Seek.
func (r *Rows) Forward(prefix []byte, upTo uint64) *Forward {
	return &Forward{it: r.list.NewIterator(), prefix: prefix, upTo: upTo}
}

// Seek moves to the first row whose key is ≥ key.
func (c *Forward) Seek(key []byte) {
	c.seekVersion(key, c.upTo)
	c.skipUnseen()
}

func (c *Forward) seekVersion(key []byte, version uint64) {
	c.buffer = appendVersioned(c.buffer[:0], key, version)
	c.it.Seek(c.buffer)
}

// skipUnseen moves forward until the current version is not above upTo.
func (c *Forward) skipUnseen() {
	for c.it.Valid() && c.Version() > c.upTo {
		c.seekVersion(c.Key(), c.upTo)
	}
}

// Next moves to the next row.
func (c *Forward) Next() error {
	c.seekVersion(c.Key(), behindVersions)
	c.skipUnseen()
	return nil
}

// Valid tells whether the iterator is at a row. If it is not, only Seek and Close may be called.
func (c *Forward) Valid() bool { return c.it.Valid() && bytes.HasPrefix(c.Key(), c.prefix) }

// Key returns the key of the current row.
func (c *Forward) Key() []byte { return y.ParseKey(c.it.Key()) }

// Version returns the version of the current row.
func (c *Forward) Version() uint64 { return y.ParseTs(c.it.Key()) }

// IsDeletion tells whether the current version is a deletion.
func (c *Forward) IsDeletion() bool { return c.it.Value().Meta == metaDelete }

// Stored returns the value of the current row in stored form.
func (c *Forward) Stored() ([]byte, error) { return c.it.Value().Value, nil }

// Close ends the iterator.
func (c *Forward) Close() { _ = c.it.Close() } // counts references only

// Backward iterates over rows in descending order of their keys. The slices that it returns stay valid as long as the Rows
// exist.
type Backward struct {
	rows    *Rows
	it      *skl.Iterator
	prefix  []byte
	upTo    uint64 // versions above this one are skipped
	current y.ValueStruct
	isValid bool
	buffer  []byte
}

// Backward returns an iterator over the rows whose keys begin with prefix, in descending order. It begins at the greatest
// such key that is ≤ from. If from is nil, it begins at the greatest key with the prefix. For each row the iterator shows the
// newest version that is not above upTo.
func (r *Rows) Backward(prefix, from []byte, upTo uint64) *Backward {
	c := &Backward{rows: r, it: r.list.NewIterator(), prefix: prefix, upTo: upTo}
	switch behind := after(prefix); {
	case from != nil && bytes.Compare(from, prefix) < 0:
		return c
	case from != nil && bytes.HasPrefix(from, prefix):
		c.seekBelow(from, behindVersions)
	case behind != nil:
		c.seekBelow(behind, beforeVersions)
	default:
		c.it.SeekToLast()
	}
	c.findVersion()
	return c
}

// seekBelow moves to the last version in the list that sorts before this version of the key.
func (c *Backward) seekBelow(key []byte, version uint64) {
	c.buffer = appendVersioned(c.buffer[:0], key, version)
	c.it.SeekForPrev(c.buffer)
}

// findVersion looks for the current key's newest version that is not above upTo. If there is none, findVersion continues
// with the next lower key.
func (c *Backward) findVersion() {
	c.isValid = false
	for c.it.Valid() && bytes.HasPrefix(c.Key(), c.prefix) {
		if c.current, c.isValid = c.rows.get(c.Key(), c.upTo, &c.buffer); c.isValid {
			return
		}
		c.seekBelow(c.Key(), beforeVersions)
	}
}

// Next moves to the next lower row.
func (c *Backward) Next() error {
	c.seekBelow(c.Key(), beforeVersions)
	c.findVersion()
	return nil
}

// Valid tells whether the iterator is at a row. If it is not, only Close may be called.
func (c *Backward) Valid() bool { return c.isValid }

// Key returns the key of the current row.
func (c *Backward) Key() []byte { return y.ParseKey(c.it.Key()) }

// Version returns the version of the current row.
func (c *Backward) Version() uint64 { return c.current.Version }

// IsDeletion tells whether the current version is a deletion.
func (c *Backward) IsDeletion() bool { return c.current.Meta == metaDelete }

// Stored returns the value of the current row in stored form.
func (c *Backward) Stored() ([]byte, error) { return c.current.Value, nil }

// Close ends the iterator.
func (c *Backward) Close() { _ = c.it.Close() } // counts references only

// after returns the first key that is greater than all keys with the prefix. If there is no such key, it returns nil.
func after(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			next := bytes.Clone(prefix[:i+1])
			next[i]++
			return next
		}
	}
	return nil
}
