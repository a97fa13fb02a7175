package secret

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
)

func TestTokenIsItsPrefixAnd256Bits(t *testing.T) {
	source := bytes.Repeat([]byte{0xfb}, 40)
	if got, want := NewToken("mzk_", bytes.NewReader(source)), "mzk_-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_v7-_s"; got != want {
		t.Errorf("token %s, want %s", got, want)
	}
	seen := make(map[string]bool)
	for range 1000 {
		token := NewToken("mza_", rand.Reader)
		body, found := strings.CutPrefix(token, "mza_")
		raw, err := base64.RawURLEncoding.DecodeString(body)
		if !found || err != nil || len(raw) != 32 || seen[token] {
			t.Fatalf("token %s: %d bytes, %v, seen %v", token, len(raw), err, seen[token])
		}
		seen[token] = true
	}
}

func TestTokenNeedsEnoughRandomness(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a token was made from 31 bytes")
		}
	}()
	NewToken("mzk_", bytes.NewReader(make([]byte, 31)))
}

func TestHashTokenIsSHA256(t *testing.T) {
	// the SHA-256 of "abc", an example of FIPS 180-4
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	sum := HashToken([]byte("abc"))
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}
