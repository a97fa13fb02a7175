package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"
)

// blockWriter feeds a hash with whole blocks only. A hash function reads a whole block in place, but
// copies an incomplete one at the end of a text into its own state, where it stays in plaintext until
// the memory is reused. So an incomplete block is collected in pending, padded (ISO/IEC 7816-4: 0x80, then
// zeros), and overwritten.
type blockWriter struct {
	hash         hash.Hash
	pending      [sha256.BlockSize]byte // an incomplete block
	pendingBytes int                    // how many bytes of pending are used
	result       [sha256.Size]byte      // the last sum
}

func (b *blockWriter) write(text []byte) {
	if b.pendingBytes > 0 {
		n := copy(b.pending[b.pendingBytes:], text)
		b.pendingBytes, text = b.pendingBytes+n, text[n:]
		if b.pendingBytes < len(b.pending) {
			return
		}
		b.hash.Write(b.pending[:])
		b.pendingBytes = 0
	}
	wholeBlocks := len(text) &^ (len(b.pending) - 1)
	b.hash.Write(text[:wholeBlocks])
	b.pendingBytes = copy(b.pending[:], text[wholeBlocks:])
}

// sum returns the hash of everything written, padded to whole blocks. Afterwards neither the writer nor its
// hash contains any of the text, and both are as new.
func (b *blockWriter) sum() [sha256.Size]byte {
	b.pending[b.pendingBytes] = 0x80
	clear(b.pending[b.pendingBytes+1:])
	b.hash.Write(b.pending[:])
	clear(b.pending[:])
	b.pendingBytes = 0
	b.hash.Sum(b.result[:0])
	b.hash.Reset()
	return b.result
}

// Sum256 returns a hash of the texts, joined, and leaves no trace of them in memory. The hash is not
// the plain SHA-256, because the joined text is padded.
func Sum256(texts ...[]byte) [sha256.Size]byte {
	b := blockWriter{hash: sha256.New()}
	for _, text := range texts {
		b.write(text)
	}
	return b.sum()
}

// macs makes HMACs with one key. It reuses its hash states, because making one takes longer than hashing a short text.
type macs struct {
	writers sync.Pool // of *blockWriter
}

func newMACs(key []byte) *macs {
	return &macs{sync.Pool{New: func() any { return &blockWriter{hash: hmac.New(sha256.New, key)} }}}
}

// sum returns the HMAC-SHA-256 of a text, padded. It leaves no trace of the text in memory.
func (m *macs) sum(text []byte) [sha256.Size]byte {
	b := m.writers.Get().(*blockWriter)
	defer m.writers.Put(b)
	b.write(text)
	return b.sum()
}
