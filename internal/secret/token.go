package secret

import (
	"crypto/sha256"
	"encoding/base64"
	"io"

	"mizan/internal/assert"
)

// tokenBytes is the entropy of a token: 256 bits.
const tokenBytes = 32

// NewToken returns a new token: the prefix (for example "mzk_"), by which people and scanners
// recognize it, and 43 characters of unpadded base64url. The source of randomness must not fail
// (crypto/rand.Reader never does), because a token with too little entropy must not exist.
func NewToken(prefix string, random io.Reader) string {
	var raw [tokenBytes]byte
	_, err := io.ReadFull(random, raw[:])
	assert.NoError(err)
	return prefix + base64.RawURLEncoding.EncodeToString(raw[:])
}

// HashToken returns the stored form of a token, the SHA-256 of all of it, including the prefix.
func HashToken(token []byte) [32]byte { return sha256.Sum256(token) }
