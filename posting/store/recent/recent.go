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

// Rows are the rows of consecutive groups. A row that several of the groups set has a version for each of them.
// One goroutine adds groups, and any number reads.
type Rows struct {
	list   *skl.Skiplist // by versioned key
	size   Size
	max    Size
	memory int    // bytes that the list's nodes may take
	key    []byte // the key of the row that is added
}

// Size is a number of rows and of their bytes, as the store counts them.
type Size struct{ Rows, Bytes int }

func (s Size) plus(t Size) Size { return Size{s.Rows + t.Rows, s.Bytes + t.Bytes} }

// Row is what a group does to a row.
type Row struct {
	Key, Stored []byte // the stored form of the value
	IsDeletion  bool
}

// Values of ValueStruct.Meta.
const (
	metaSet    = 0
	metaDelete = 1
)

// New returns an empty set of rows with room for a group of the given size, and for as many others as fit. The set never has more
// rows or bytes than max.
func New(max Size, first Size) *Rows {
	const head = 2 * skl.MaxNodeSize // an empty list has a node
	r := &Rows{max: max, memory: head + first.memory()}
	if ordinary := max.Bytes + max.Bytes/4; r.memory < ordinary { // enough for rows of ordinary length
		r.memory = ordinary
	}
	r.list = skl.NewSkiplist(int64(r.memory + skl.MaxNodeSize)) // the unused part of the last node may lie beyond r.memory
	return r
}

// memory returns an upper bound of the memory that rows take.
func (s Size) memory() int {
	// The list takes for each row a node of some height, with its alignment, the version in the key, and the head of the value.
	const perRow = skl.MaxNodeSize + 8 + 8 + 12
	return s.Bytes + s.Rows*perRow
}

// Size returns the size of all groups together.
func (r *Rows) Size() Size { return r.size }

// Fits tells whether a group of this size can be added.
func (r *Rows) Fits(group Size) bool {
	sum := r.size.plus(group)
	return sum.Rows <= r.max.Rows && sum.Bytes <= r.max.Bytes && int(r.list.MemSize())+group.memory() <= r.memory
}

// Add adds the rows of a group that fits, with its version. Readers of earlier versions do not see them. If the group has a row twice,
// the later one counts.
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

// appendVersioned appends Badger's form of a key with a version: higher versions of a key come first.
func appendVersioned(dst, key []byte, version uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, key...), math.MaxUint64-version)
}

// Versions that no row has: one that sorts before all versions of a key, and one that sorts behind them.
const (
	beforeVersions = math.MaxUint64
	behindVersions = 0
)

// Get returns the newest version of a row up to the given one. found is false if no group changes the row.
// buffer is memory for the search.
func (r *Rows) Get(key []byte, upTo uint64, buffer *[]byte) (row Row, found bool) {
	value, found := r.get(key, upTo, buffer)
	return Row{Key: key, Stored: value.Value, IsDeletion: value.Meta == metaDelete}, found
}

func (r *Rows) get(key []byte, upTo uint64, buffer *[]byte) (value y.ValueStruct, found bool) {
	*buffer = appendVersioned((*buffer)[:0], key, upTo)
	value = r.list.Get(*buffer)
	return value, value.Version != 0
}

// Newest returns the newest version of every row, by ascending key.
func (r *Rows) Newest() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		it := r.list.NewIterator()
		defer func() { _ = it.Close() }() // counts references only
		var last []byte
		for it.SeekToFirst(); it.Valid(); it.Next() {
			key := y.ParseKey(it.Key())
			if last != nil && bytes.Equal(key, last) {
				continue // an older version
			}
			last = key
			value := it.Value()
			if !yield(Row{Key: key, Stored: value.Value, IsDeletion: value.Meta == metaDelete}) {
				return
			}
		}
	}
}

// Forward iterates over rows by ascending key. Slices are valid as long as the rows are.
type Forward struct {
	it     *skl.Iterator
	prefix []byte
	upTo   uint64 // versions above this one are not seen
	buffer []byte
}

// Forward returns an iterator over the rows whose keys begin with prefix, in their newest versions up to the given one. It has no row
// before Seek.
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

// skipUnseen moves to the next version that is not above upTo, unless the current one is such.
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

// Valid tells whether there is a row; if not, only Seek and Close may be called.
func (c *Forward) Valid() bool { return c.it.Valid() && bytes.HasPrefix(c.Key(), c.prefix) }

// Key returns the row's key.
func (c *Forward) Key() []byte { return y.ParseKey(c.it.Key()) }

// Version returns the version that is seen.
func (c *Forward) Version() uint64 { return y.ParseTs(c.it.Key()) }

// IsDeletion tells whether that version removes the row.
func (c *Forward) IsDeletion() bool { return c.it.Value().Meta == metaDelete }

// Stored returns the stored form of the row's value.
func (c *Forward) Stored() ([]byte, error) { return c.it.Value().Value, nil }

// Close ends the iterator.
func (c *Forward) Close() { _ = c.it.Close() } // counts references only

// Backward iterates over rows by descending key. Slices are valid as long as the rows are.
type Backward struct {
	rows    *Rows
	it      *skl.Iterator
	prefix  []byte
	upTo    uint64 // versions above this one are not seen
	current y.ValueStruct
	isValid bool
	buffer  []byte
}

// Backward returns an iterator that begins with the greatest key ≤ from that begins with prefix; nil means the last of all.
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

// seekBelow moves to the last entry before the given version of a key.
func (c *Backward) seekBelow(key []byte, version uint64) {
	c.buffer = appendVersioned(c.buffer[:0], key, version)
	c.it.SeekForPrev(c.buffer)
}

// findVersion finds the newest version up to upTo of the key at the iterator, or of the next lower key that has such a
// version.
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

// Valid tells whether there is a row; if not, only Close may be called.
func (c *Backward) Valid() bool { return c.isValid }

// Key returns the row's key.
func (c *Backward) Key() []byte { return y.ParseKey(c.it.Key()) }

// Version returns the version that is seen.
func (c *Backward) Version() uint64 { return c.current.Version }

// IsDeletion tells whether that version removes the row.
func (c *Backward) IsDeletion() bool { return c.current.Meta == metaDelete }

// Stored returns the stored form of the row's value.
func (c *Backward) Stored() ([]byte, error) { return c.current.Value, nil }

// Close ends the iterator.
func (c *Backward) Close() { _ = c.it.Close() } // counts references only

// after returns the first key that is greater than all keys with the prefix; nil if there is none.
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
