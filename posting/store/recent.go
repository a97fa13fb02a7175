package store

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/dgraph-io/badger/v4/skl"
	"github.com/dgraph-io/badger/v4/y"

	"mizan/internal/assert"
)

// recentGroups holds the rows of consecutive groups that Badger does not have yet. A row that several of the groups set
// has a version for each of them, so that a snapshot reads the rows of its own group while later ones are added. One goroutine
// adds groups, and any number reads.
type recentGroups struct {
	rows     *skl.Skiplist // by versionedKey
	last     uint64        // number of the last group; only the goroutine that adds groups uses it
	count    int           // rows of all groups, their own rows included
	size     int           // bytes of these rows, as Group.Bytes counts them
	maxCount int
	maxSize  int
	memory   int    // bytes that rows may take
	key      []byte // the key of the row that is added
}

// Values of ValueStruct.Meta: what a group does to the row.
const (
	metaSet    = 0
	metaDelete = 1
)

// newRecentGroups returns an empty set of groups, which may have as many rows and bytes as one transaction of Badger. g is the first
// of them, or nil.
func newRecentGroups(maxCount, maxSize int, g *Group) *recentGroups {
	r := &recentGroups{maxCount: maxCount, maxSize: maxSize, memory: maxSize + maxSize/4} // enough for rows of ordinary length
	if g != nil {
		const head = 2 * skl.MaxNodeSize // an empty list has a node
		r.memory = max(r.memory, head+memoryOf(g))
	}
	r.rows = skl.NewSkiplist(int64(r.memory + skl.MaxNodeSize)) // the part of the last node that is never used may be behind the rest
	return r
}

// memoryOf returns an upper bound of the memory that a group's rows take.
func memoryOf(g *Group) int {
	// The list takes for each row a node of some height, with its alignment, the version in the key, and the head of the value.
	const perRow = skl.MaxNodeSize + 8 + 8 + 12
	return g.size + groupRowBytes + (g.Rows()+1)*perRow
}

// fits tells whether a group can be added.
func (r *recentGroups) fits(g *Group) bool {
	return r.count+g.Rows()+1 <= r.maxCount && r.size+g.size+groupRowBytes <= r.maxSize && int(r.rows.MemSize())+memoryOf(g) <= r.memory
}

// groupRowBytes is the size of a group's own row, as Group.Bytes counts rows.
const groupRowBytes = 1 + 8 + groupRowSize + checksumSize + rowOverhead

// add adds a sealed group that fits. Snapshots of earlier groups do not see its rows.
func (r *recentGroups) add(g *Group) {
	assert.That(r.fits(g), "group %d does not fit", g.n)
	version := version(g.n)
	for _, row := range g.rows {
		r.key = appendVersionedKey(r.key[:0], g.key(row), version)
		value := y.ValueStruct{Meta: metaSet, Value: g.value(row)}
		if row.isDeletion {
			value = y.ValueStruct{Meta: metaDelete}
		}
		r.rows.Put(r.key, value)
	}
	key := groupRowKey(g.n)
	r.key = appendVersionedKey(r.key[:0], key, version)
	r.rows.Put(r.key, y.ValueStruct{Meta: metaSet, Value: appendChecksum(key, g.seal.append(nil))})
	r.last, r.count, r.size = g.n, r.count+g.Rows()+1, r.size+g.size+groupRowBytes
}

// appendVersionedKey appends Badger's form of a key with a version: higher versions of a key come first.
func appendVersionedKey(dst, key []byte, version uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, key...), math.MaxUint64-version)
}

// Versions that no row has: the one before all rows of a key, and the one behind them.
const (
	beforeVersions = math.MaxUint64
	behindVersions = 0
)

// get returns the newest version of a row up to the given one. found is false if no group changes the row.
// buffer is memory for the search.
func (r *recentGroups) get(key []byte, upTo uint64, buffer *[]byte) (value y.ValueStruct, found bool) {
	*buffer = appendVersionedKey((*buffer)[:0], key, upTo)
	value = r.rows.Get(*buffer)
	return value, value.Version != 0
}

// recentForward iterates over rows by ascending key.
type recentForward struct {
	it     *skl.Iterator
	prefix []byte
	upTo   uint64 // versions above this one are not seen
	buffer []byte
}

func (r *recentGroups) forward(prefix []byte, upTo uint64) *recentForward {
	return &recentForward{it: r.rows.NewIterator(), prefix: prefix, upTo: upTo}
}

func (c *recentForward) seek(key []byte) {
	c.seekVersion(key, c.upTo)
	c.skipUnseen()
}

func (c *recentForward) seekVersion(key []byte, version uint64) {
	c.buffer = appendVersionedKey(c.buffer[:0], key, version)
	c.it.Seek(c.buffer)
}

// skipUnseen moves on to the first version that is seen.
func (c *recentForward) skipUnseen() {
	for c.it.Valid() && c.version() > c.upTo {
		c.seekVersion(c.key(), c.upTo)
	}
}

func (c *recentForward) next() error {
	c.seekVersion(c.key(), behindVersions)
	c.skipUnseen()
	return nil
}

func (c *recentForward) valid() bool             { return c.it.Valid() && bytes.HasPrefix(c.key(), c.prefix) }
func (c *recentForward) key() []byte             { return y.ParseKey(c.it.Key()) }
func (c *recentForward) version() uint64         { return y.ParseTs(c.it.Key()) }
func (c *recentForward) isDeletion() bool        { return c.it.Value().Meta == metaDelete }
func (c *recentForward) stored() ([]byte, error) { return c.it.Value().Value, nil }
func (c *recentForward) close()                  { _ = c.it.Close() } // counts references only

// recentBackward iterates over rows by descending key.
type recentBackward struct {
	groups  *recentGroups
	it      *skl.Iterator
	prefix  []byte
	upTo    uint64 // versions above this one are not seen
	current y.ValueStruct
	isValid bool
	buffer  []byte
}

// backward begins with the greatest key ≤ from that begins with prefix; nil means the last of all.
func (r *recentGroups) backward(prefix, from []byte, upTo uint64) *recentBackward {
	c := &recentBackward{groups: r, it: r.rows.NewIterator(), prefix: prefix, upTo: upTo}
	switch behind := After(bytes.Clone(prefix)); {
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
func (c *recentBackward) seekBelow(key []byte, version uint64) {
	c.buffer = appendVersionedKey(c.buffer[:0], key, version)
	c.it.SeekForPrev(c.buffer)
}

// findVersion finds the version that is seen of the key at the iterator, or of the next lower key that has one.
func (c *recentBackward) findVersion() {
	c.isValid = false
	for c.it.Valid() && bytes.HasPrefix(c.key(), c.prefix) {
		if c.current, c.isValid = c.groups.get(c.key(), c.upTo, &c.buffer); c.isValid {
			return
		}
		c.seekBelow(c.key(), beforeVersions)
	}
}

func (c *recentBackward) next() error {
	c.seekBelow(c.key(), beforeVersions)
	c.findVersion()
	return nil
}

func (c *recentBackward) valid() bool             { return c.isValid }
func (c *recentBackward) key() []byte             { return y.ParseKey(c.it.Key()) }
func (c *recentBackward) version() uint64         { return c.current.Version }
func (c *recentBackward) isDeletion() bool        { return c.current.Meta == metaDelete }
func (c *recentBackward) stored() ([]byte, error) { return c.current.Value, nil }
func (c *recentBackward) close()                  { _ = c.it.Close() } // counts references only
