package scan

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"mizan/ledger"
	"mizan/posting"
)

// Digest hashes rows in the order in which they are read, with their lengths,
// so that two different stores have different digests. Blocks are left out: the
// tree's root says what they hold. So are due rows, which a server sweeps away
// when their time has passed, groups, which say how it came about, and checkpoints,
// which follow from the blocks and are made when there is time.
type Digest struct {
	hash   hash.Hash
	buffer []byte
}

func newDigest() *Digest { return &Digest{hash: sha256.New()} }

func (d *Digest) Begin(org ledger.ID) { d.hash.Write(append([]byte{'o'}, org[:]...)) }

func (d *Digest) section(s posting.Section) { d.hash.Write([]byte{'s', byte(s)}) }

func (d *Digest) Head(size uint64, root [32]byte) {
	d.hash.Write(append(binary.BigEndian.AppendUint64([]byte{'h'}, size), root[:]...))
}

func (d *Digest) row(key, row []byte) {
	d.buffer = binary.AppendUvarint(append(d.buffer[:0], 'r'), uint64(len(key)))
	d.buffer = binary.AppendUvarint(append(d.buffer, key...), uint64(len(row)))
	d.buffer = append(d.buffer, row...)
	d.hash.Write(d.buffer)
}

func (d *Digest) Sum() (sum [32]byte) {
	d.hash.Sum(sum[:0])
	return sum
}
