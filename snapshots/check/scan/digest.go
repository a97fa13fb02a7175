package scan

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"mizan/ledger"
	"mizan/posting"
)

// Digest is a hash of the rows of a store, in the order in which they are read. The length of each row is hashed too,
// so that two different stores have different digests. Digest leaves out these rows:
//   - blocks and tree rows, because the journal's size and root hash cover them;
//   - timers, because a server removes a timer when its time has passed;
//   - groups, because a group only tells which changes were written together;
//   - checkpoints, turnover and the index of transactions, because the server writes them when it has time.
type Digest struct {
	hash   hash.Hash
	buffer []byte
}

func newDigest() *Digest { return &Digest{hash: sha256.New()} }

// Begin begins an organization's part of the digest by hashing the organization's id.
func (d *Digest) Begin(org ledger.ID) { d.hash.Write(append([]byte{'o'}, org[:]...)) }

func (d *Digest) beginSection(s posting.RowKind) { d.hash.Write([]byte{'s', byte(s)}) }

// AddHead adds the size and the root hash of the organization's journal.
func (d *Digest) AddHead(size uint64, root [32]byte) {
	d.hash.Write(append(binary.BigEndian.AppendUint64([]byte{'h'}, size), root[:]...))
}

func (d *Digest) addRow(key, row []byte) {
	d.buffer = binary.AppendUvarint(append(d.buffer[:0], 'r'), uint64(len(key)))
	d.buffer = binary.AppendUvarint(append(d.buffer, key...), uint64(len(row)))
	d.buffer = append(d.buffer, row...)
	d.hash.Write(d.buffer)
}

// Sum returns the digest of all rows so far.
func (d *Digest) Sum() (sum [32]byte) {
	d.hash.Sum(sum[:0])
	return sum
}
