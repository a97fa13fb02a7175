package store

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/dgraph-io/badger/v4"

	"mizan/internal/assert"
)

const (
	// MaxKey and MaxValue bound one row, in bytes. Badger keeps values up to
	// 15% of a memtable in its tables and moves longer ones into another file,
	// where none of the promises of this package hold.
	MaxKey   = 4 << 10
	MaxValue = 128 << 10

	checksumSize = 4  // CRC-32C over key and value, at the end of every value
	rowOverhead  = 12 // what Badger adds when it counts a row against its limit
	rowHead      = 9  // operation, length of the key, length of the value

	opSet    = 1
	opDelete = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// row is where one row lies in the group's arena.
type row struct {
	at      uint32 // of the key
	key     uint32 // length
	value   uint32 // length with its checksum; 0 for a deletion
	deleted bool
}

// Group is a set of rows that becomes durable together. It is prepared and
// serialised by its owner; Store.Apply only copies. A Group is used by one
// goroutine at a time, and its memory is used again after Reset.
type Group struct {
	n        uint64
	previous [32]byte
	arena    []byte // the rows as they are hashed: operation, lengths, key, value
	rows     []row
	size     int
	sealed   bool
	seal     groupRow
	entries  []badger.Entry // for Apply
}

// NewGroup begins group n, which follows the group with the hash previous (all
// zeros before group 1).
func NewGroup(n uint64, previous [32]byte) *Group {
	g := new(Group)
	g.Reset(n, previous)
	return g
}

// Reset empties the group and begins group n in its place.
func (g *Group) Reset(n uint64, previous [32]byte) {
	assert.That(n > 0, "group 0 is the empty store")
	g.n, g.previous = n, previous
	g.arena, g.rows, g.size, g.sealed = g.arena[:0], g.rows[:0], 0, false
}

// N is the group's number.
func (g *Group) N() uint64 { return g.n }

// Previous is the hash of the group before.
func (g *Group) Previous() [32]byte { return g.previous }

// Set puts a row into the group. Key and value are copied, and the value's
// checksum is added. If a group sets a key twice, the later row holds.
func (g *Group) Set(key, value []byte) {
	if len(value) > MaxValue { // the assertion's arguments would be allocated
		assert.That(false, "a value of %d bytes", len(value))
	}
	at := g.add(opSet, key, len(value)+checksumSize)
	g.arena = append(g.arena, value...)
	sum := crc32.Update(crc32.Checksum(g.arena[at:int(at)+len(key)], castagnoli), castagnoli, value)
	g.arena = binary.BigEndian.AppendUint32(g.arena, sum)
}

// Delete puts the deletion of a key into the group.
func (g *Group) Delete(key []byte) { g.add(opDelete, key, 0) }

func (g *Group) add(op byte, key []byte, value int) (at uint32) {
	assert.That(!g.sealed, "group %d is sealed", g.n)
	assert.That(len(key) > 0 && len(key) <= MaxKey, "a key of %d bytes", len(key))
	assert.That(key[0] != prefixGroup && key[0] != '!' && string(key) != schemaKey,
		"keys that begin with %q belong to the store", key[0])
	g.arena = append(g.arena, op)
	g.arena = binary.BigEndian.AppendUint32(g.arena, uint32(len(key)))
	g.arena = binary.BigEndian.AppendUint32(g.arena, uint32(value))
	at = uint32(len(g.arena))
	g.arena = append(g.arena, key...)
	g.rows = append(g.rows, row{at: at, key: uint32(len(key)), value: uint32(value), deleted: op == opDelete})
	g.size += len(key) + value + rowOverhead
	return at
}

// Rows is the number of rows in the group.
func (g *Group) Rows() int { return len(g.rows) }

// Bytes is the group's size as Badger counts it against its limit: keys,
// values, checksums and 12 bytes a row.
func (g *Group) Bytes() int { return g.size }

// Seal ends the group: nothing can be added any more. It returns the group's
// hash, which covers every row in order and the hash of the group before.
func (g *Group) Seal() [32]byte {
	if !g.sealed {
		g.seal = groupRow{n: g.n, previous: g.previous, rows: sha256.Sum256(g.arena), size: uint64(g.size)}
		g.sealed = true
	}
	return g.seal.hash()
}

// fill hands every row, and the group's own, to a Badger transaction.
func (g *Group) fill(txn *badger.Txn) error {
	n := len(g.rows)
	g.entries = slices.Grow(g.entries[:0], n+1)[:n+1]
	clear(g.entries) // Badger leaves marks of its own in them
	for i, r := range g.rows {
		if r.deleted {
			if err := txn.Delete(g.key(r)); err != nil {
				return err
			}
			continue
		}
		e := &g.entries[i]
		e.Key, e.Value = g.key(r), g.value(r)
		if err := txn.SetEntry(e); err != nil {
			return err
		}
	}
	own := &g.entries[n]
	own.Key = groupRowKey(g.n)
	own.Value = sealValue(own.Key, g.seal.append(nil))
	return txn.SetEntry(own)
}

func (g *Group) key(r row) []byte { return g.arena[r.at : r.at+r.key : r.at+r.key] }

func (g *Group) value(r row) []byte {
	from := r.at + r.key
	return g.arena[from : from+r.value : from+r.value]
}

// prefixGroup begins the keys of group rows: g, then n as 8 bytes, big-endian.
const prefixGroup = 'g'

// KeyGroup is group/<n>.
func KeyGroup(n uint64) []byte { return groupRowKey(n) }

func groupRowKey(n uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefixGroup}, n)
}

// groupRow is what the row group/<n> holds. Group rows are never deleted.
type groupRow struct {
	n        uint64
	previous [32]byte
	rows     [32]byte // SHA-256 of the group's rows in order
	size     uint64   // Group.Bytes
}

const groupRowSize = 8 + 32 + 32 + 8

func (r groupRow) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, r.n)
	dst = append(dst, r.previous[:]...)
	dst = append(dst, r.rows[:]...)
	return binary.BigEndian.AppendUint64(dst, r.size)
}

// hash chains the group to the one before: the row holds the previous hash.
func (r groupRow) hash() [32]byte {
	return sha256.Sum256(r.append(make([]byte, 0, groupRowSize)))
}

func parseGroupRow(b []byte) (r groupRow, ok bool) {
	if len(b) != groupRowSize {
		return r, false
	}
	r.n = binary.BigEndian.Uint64(b)
	copy(r.previous[:], b[8:])
	copy(r.rows[:], b[40:])
	r.size = binary.BigEndian.Uint64(b[72:])
	return r, true
}

// sealValue appends the checksum that every stored value ends with.
func sealValue(key, value []byte) []byte {
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	return binary.BigEndian.AppendUint32(append(make([]byte, 0, len(value)+checksumSize), value...), sum)
}

// openValue checks and takes off the checksum of a stored value.
func openValue(key, stored []byte) (value []byte, ok bool) {
	n := len(stored) - checksumSize
	if n < 0 {
		return nil, false
	}
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, stored[:n])
	return stored[:n], sum == binary.BigEndian.Uint32(stored[n:])
}
