package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
)

// blocks feeds a hash with whole blocks only. A hash function works on a whole block
// where it lies, but copies the rest of a text into its own state, and what was in that
// rest stays there in the clear until the memory is used for something else. So the
// rest is collected here, padded (ISO/IEC 7816-4: 0x80, then zeros), and overwritten.
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
	whole := len(text) &^ (len(b.rest) - 1)
	b.hash.Write(text[:whole])
	b.n = copy(b.rest[:], text[whole:])
}

// sum is the hash of what was written, padded to whole blocks. Nothing of the text is
// in b afterwards, nor in the hash.
func (b *blocks) sum() (sum [sha256.Size]byte) {
	b.rest[b.n] = 0x80
	clear(b.rest[b.n+1:])
	b.hash.Write(b.rest[:])
	clear(b.rest[:])
	b.hash.Sum(sum[:0])
	return sum
}

// Sum256 tells texts from all others: it is a SHA-256 of theirs that leaves no trace of
// them in memory. It is no SHA-256 of the texts as they are: they are padded.
func Sum256(texts ...[]byte) [sha256.Size]byte {
	b := blocks{hash: sha256.New()}
	for _, text := range texts {
		b.write(text)
	}
	return b.sum()
}

// mac is the HMAC-SHA-256 of a text, padded, that leaves no trace of it in memory.
func mac(key, text []byte) [sha256.Size]byte {
	b := blocks{hash: hmac.New(sha256.New, key)}
	b.write(text)
	return b.sum()
}
