package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"
)

// blockWriter passes text to a hash in whole blocks only, so that no plaintext stays in memory. A hash function reads whole
// blocks in place. But if the text ends with an incomplete block, the hash function copies this block into its own state, where
// the plaintext stays until the memory is reused. So blockWriter copies the incomplete block to pending, pads it to a whole
// block (ISO/IEC 7816-4: 0x80, then zeros), and overwrites pending afterwards.
type blockWriter struct {
	hash         hash.Hash
	pending      [sha256.BlockSize]byte // beginning of a block that is not complete yet
	pendingBytes int                    // number of bytes of pending that are used
	result       [sha256.Size]byte      // memory for the result of sum
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

// sum pads the written text to whole blocks and returns its hash. Afterwards neither the writer nor its hash contains any of
// the text, and the writer can be used for a new text.
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

// Sum256 returns a hash of the concatenated texts, and leaves no copy of the texts in memory. The hash differs from a plain
// SHA-256, because the concatenated text is padded.
func Sum256(texts ...[]byte) [sha256.Size]byte {
	b := blockWriter{hash: sha256.New()}
	for _, text := range texts {
		b.write(text)
	}
	return b.sum()
}

// macs computes HMACs with one key. It reuses hash states, because to make a new state takes longer than to hash a short text.
type macs struct {
	writers sync.Pool // of *blockWriter
}

func newMACs(key []byte) *macs {
	return &macs{sync.Pool{New: func() any { return &blockWriter{hash: hmac.New(sha256.New, key)} }}}
}

// sum returns the HMAC-SHA-256 of the padded text, and leaves no copy of the text in memory.
func (m *macs) sum(text []byte) [sha256.Size]byte {
	b := m.writers.Get().(*blockWriter)
	defer m.writers.Put(b)
	b.write(text)
	return b.sum()
}
