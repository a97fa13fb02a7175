package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
)

// blocks feeds a hash with whole blocks only. A hash function reads a whole block in place, but
// copies the rest of a text into its own state, where the rest stays in plaintext until the
// memory is reused. So the rest is collected here, padded (ISO/IEC 7816-4: 0x80, then zeros),
// and overwritten.
type blocks struct {
	hash hash.Hash
	rest [sha256.BlockSize]byte
	n    int // bytes of rest
}

func (b *blocks) write(text []byte) {
	if b.n > 0 {
		n := copy(b.rest[b.n:], text)
		b.n, text = b.n+n, text[n:]
		if b.n < len(b.rest) {
			return
		}
		b.hash.Write(b.rest[:])
		b.n = 0
	}
	wholeBlocks := len(text) &^ (len(b.rest) - 1)
	b.hash.Write(text[:wholeBlocks])
	b.n = copy(b.rest[:], text[wholeBlocks:])
}

// sum returns the hash of everything written, padded to whole blocks. Afterwards neither b nor
// the hash contains any of the text.
func (b *blocks) sum() (sum [sha256.Size]byte) {
	b.rest[b.n] = 0x80
	clear(b.rest[b.n+1:])
	b.hash.Write(b.rest[:])
	clear(b.rest[:])
	b.hash.Sum(sum[:0])
	return sum
}

// Sum256 returns a hash that identifies a list of texts and leaves no trace of them in memory.
// It is not the SHA-256 of the plain texts, because it pads them.
func Sum256(texts ...[]byte) [sha256.Size]byte {
	b := blocks{hash: sha256.New()}
	for _, text := range texts {
		b.write(text)
	}
	return b.sum()
}

// mac returns the HMAC-SHA-256 of a text, padded. It leaves no trace of the text in memory.
func mac(key, text []byte) [sha256.Size]byte {
	b := blocks{hash: hmac.New(sha256.New, key)}
	b.write(text)
	return b.sum()
}
