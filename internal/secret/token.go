package secret

import (
	"crypto/sha256"
	"encoding/base64"
	"io"

	"mizan/internal/assert"
)

// tokenBytes is the number of random bytes in a token: 256 bits of entropy.
const tokenBytes = 32

// NewToken returns a new token: the prefix, and 43 characters of unpadded base64url. People and secret scanners recognize a
// token by its prefix, for example "mzk_". The reader random must never fail, because a token with too little entropy must not
// exist. crypto/rand.Reader never fails.
func NewToken(prefix string, random io.Reader) string {
	var raw [tokenBytes]byte
	_, err := io.ReadFull(random, raw[:])
	assert.NoError(err)
	return prefix + base64.RawURLEncoding.EncodeToString(raw[:])
}

// HashToken returns the form in which a token is stored: the SHA-256 of the whole token, including its prefix.
func HashToken(token []byte) [32]byte { return sha256.Sum256(token) }
