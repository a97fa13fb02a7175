package store

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"mizan/internal/assert"
	"mizan/posting/log"
	"mizan/posting/store/damage"
	"mizan/posting/store/recent"
)

const (
	// MaxKey and MaxValue are the largest lengths of a row's key and value, in bytes. Badger would move values of more
	// than 15% of a memtable into files of its own, for which this package's invariants do not hold.
	MaxKey   = 4 << 10
	MaxValue = 128 << 10

	checksumSize = 4  // bytes of the CRC-32C over key and value, which follows every stored value
	rowOverhead  = 12 // bytes that Badger adds for each row when it computes the size of a transaction

	opSet    = 1
	opDelete = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// rowPlace tells where one row is in the arena of its group.
type rowPlace struct {
	offset      uint32 // offset of the key in the arena; the value follows the key
	keyLength   uint32
	valueLength uint32 // length of the value with its checksum; 0 for a deletion
	isDeletion  bool
}

// Group is a set of rows that become durable together. Its owner adds the rows. A Group serialises each row as soon as it is
// added, so that Store.Apply only copies bytes. Only one goroutine at a time may use a Group. Its memory can be used again
// after Reset.
type Group struct {
	n        uint64
	previous [32]byte
	arena    []byte // the group's frame: room for the frame's header, and the rows in the form that is hashed (operation, lengths, key, value)
	rows     []rowPlace
	size     int // see Bytes
	sealed   bool
	seal     groupRow // content of the group's own row; set by Seal
}

// NewGroup returns an empty group with the number n. previous is the hash of the preceding group. For group 1 it is all
// zeros.
func NewGroup(n uint64, previous [32]byte) *Group {
	g := new(Group)
	g.Reset(n, previous)
	return g
}

// Reset empties the group, and gives it the number n and the hash of the previous group.
func (g *Group) Reset(n uint64, previous [32]byte) {
	assert.That(n > 0, "group 0 is the empty store")
	g.n, g.previous = n, previous
	g.arena = slices.Grow(g.arena[:0], log.HeaderSize)[:log.HeaderSize]
	g.rows, g.size, g.sealed = g.rows[:0], 0, false
}

// N returns the group's number.
func (g *Group) N() uint64 { return g.n }

// Previous returns the hash of the preceding group.
func (g *Group) Previous() [32]byte { return g.previous }

// Set adds a row to the group. It copies key and value, and adds the value's checksum. If a group sets a key twice, the later
// row counts.
func (g *Group) Set(key, value []byte) {
	if len(value) > MaxValue { // tested first, because passing the arguments of assert.That allocates memory
		assert.That(false, "a value of %d bytes", len(value))
	}
	offset := g.add(opSet, key, len(value)+checksumSize)
	g.arena = append(g.arena, value...)
	sum := crc32.Update(crc32.Checksum(g.arena[offset:int(offset)+len(key)], castagnoli), castagnoli, value)
	g.arena = binary.BigEndian.AppendUint32(g.arena, sum)
}

// Delete adds the deletion of a key to the group.
func (g *Group) Delete(key []byte) { g.add(opDelete, key, 0) }

func (g *Group) add(op byte, key []byte, valueLength int) (offset uint32) {
	assert.That(!g.sealed, "group %d is sealed", g.n)
	assert.That(len(key) > 0 && len(key) <= MaxKey, "a key of %d bytes", len(key))
	assert.That(key[0] != prefixGroup && key[0] != prefixValues && key[0] != '!' && string(key) != schemaKey,
		"keys that begin with %q belong to the store", key[0])
	g.arena = append(g.arena, op)
	g.arena = binary.BigEndian.AppendUint32(g.arena, uint32(len(key)))
	g.arena = binary.BigEndian.AppendUint32(g.arena, uint32(valueLength))
	offset = uint32(len(g.arena))
	g.arena = append(g.arena, key...)
	g.place(rowPlace{offset: offset, keyLength: uint32(len(key)), valueLength: uint32(valueLength), isDeletion: op == opDelete})
	return offset
}

func (g *Group) place(r rowPlace) {
	g.rows = append(g.rows, r)
	g.size += int(r.keyLength+r.valueLength) + rowOverhead
}

// rowHead is the number of bytes that a row has in the arena before its key.
const rowHead = 1 + 4 + 4

// Frame seals the group and returns it as a frame of the log. The payload is valid until Reset.
func (g *Group) Frame() log.Frame {
	return log.Frame{Mark: log.Mark{N: g.n, Hash: g.Seal()}, Previous: g.previous, Payload: g.arena[log.HeaderSize:]}
}

// Read fills the group with the rows in a frame of the log, and seals it. If the frame's hash is not that of the rows, the error
// is a *DamageError.
func (g *Group) Read(f log.Frame) error {
	g.Reset(f.N, f.Previous)
	g.arena = append(g.arena, f.Payload...)
	for at := uint64(log.HeaderSize); at < uint64(len(g.arena)); {
		if uint64(len(g.arena))-at < rowHead {
			return damage.New("", "group %d ends in a row", f.N)
		}
		op, keyLength, valueLength := g.arena[at], binary.BigEndian.Uint32(g.arena[at+1:]), binary.BigEndian.Uint32(g.arena[at+5:])
		at += rowHead
		if op != opSet && op != opDelete || keyLength > MaxKey || valueLength > MaxValue+checksumSize || at+uint64(keyLength)+uint64(valueLength) > uint64(len(g.arena)) {
			return damage.New("", "group %d has a row that does not fit", f.N)
		}
		g.place(rowPlace{offset: uint32(at), keyLength: keyLength, valueLength: valueLength, isDeletion: op == opDelete})
		at += uint64(keyLength) + uint64(valueLength)
	}
	if g.Seal() != f.Hash {
		return damage.New("", "the rows of group %d do not have its hash", f.N)
	}
	return nil
}

// Rows returns the number of rows in the group.
func (g *Group) Rows() int { return len(g.rows) }

// Bytes returns the size of the group as Badger counts it for its limit: keys, values and checksums, and 12 bytes for each
// row.
func (g *Group) Bytes() int { return g.size }

// Seal ends the group: afterwards no row can be added. It returns the hash of the group, which covers every row in order and
// the hash of the previous group.
func (g *Group) Seal() [32]byte {
	if !g.sealed {
		g.seal = groupRow{n: g.n, previous: g.previous, rowsHash: sha256.Sum256(g.arena[log.HeaderSize:]), size: uint64(g.size)}
		g.sealed = true
	}
	return g.seal.hash()
}

// recentSize returns the size that the group takes in memory, including the group's own row.
func (g *Group) recentSize() recent.Size {
	return recent.Size{Rows: g.Rows() + 1, Bytes: g.size + groupRowBytes}
}

// addTo adds the rows of a sealed group, and the group's own row, to rows.
func (g *Group) addTo(rows *recent.Rows) {
	rows.Add(version(g.n), g.recentSize(), func(yield func(recent.Row) bool) {
		for _, r := range g.rows {
			if !yield(recent.Row{Key: g.key(r), Stored: g.value(r), IsDeletion: r.isDeletion}) {
				return
			}
		}
		key := groupRowKey(g.n)
		yield(recent.Row{Key: key, Stored: appendChecksum(key, g.seal.append(nil))})
	})
}

// groupRowBytes is the size of a group's own row, as Group.Bytes counts rows.
const groupRowBytes = 1 + 8 + groupRowSize + checksumSize + rowOverhead

func (g *Group) key(r rowPlace) []byte {
	return g.arena[r.offset : r.offset+r.keyLength : r.offset+r.keyLength]
}

func (g *Group) value(r rowPlace) []byte {
	from := r.offset + r.keyLength
	return g.arena[from : from+r.valueLength : from+r.valueLength]
}

// prefixGroup is the first byte of the keys of group rows. The group's number follows as 8 bytes, big-endian.
const prefixGroup = 'g'

// KeyGroup returns the key of group n's own row.
func KeyGroup(n uint64) []byte { return groupRowKey(n) }

func groupRowKey(n uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefixGroup}, n)
}

// groupRow is the value of a group's own row, whose key KeyGroup returns. Such rows are never deleted.
type groupRow struct {
	n        uint64
	previous [32]byte
	rowsHash [32]byte // SHA-256 of the group's rows in order
	size     uint64   // the result of Group.Bytes
}

const groupRowSize = 8 + 32 + 32 + 8

func (r groupRow) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, r.n)
	dst = append(dst, r.previous[:]...)
	dst = append(dst, r.rowsHash[:]...)
	return binary.BigEndian.AppendUint64(dst, r.size)
}

// hash returns the hash of the group. The hash covers the hash of the previous group, so the hashes form a chain.
func (r groupRow) hash() [32]byte {
	return sha256.Sum256(r.append(make([]byte, 0, groupRowSize)))
}

func parseGroupRow(b []byte) (r groupRow, ok bool) {
	if len(b) != groupRowSize {
		return r, false
	}
	r.n = binary.BigEndian.Uint64(b)
	copy(r.previous[:], b[8:])
	copy(r.rowsHash[:], b[40:])
	r.size = binary.BigEndian.Uint64(b[72:])
	return r, true
}

// appendChecksum returns the stored form of a value: a copy of the value, followed by its checksum.
func appendChecksum(key, value []byte) []byte {
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value)
	return binary.BigEndian.AppendUint32(append(make([]byte, 0, len(value)+checksumSize), value...), sum)
}

// withoutChecksum returns a stored value without its checksum. If the checksum is wrong, ok is false.
func withoutChecksum(key, stored []byte) (value []byte, ok bool) {
	n := len(stored) - checksumSize
	if n < 0 {
		return nil, false
	}
	sum := crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, stored[:n])
	return stored[:n], sum == binary.BigEndian.Uint32(stored[n:])
}
