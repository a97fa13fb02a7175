package secret

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"mizan/internal/assert"
)

const (
	derivedKeyBytes = 32

	// The namespaces of derived keys: no label of Derive can be that of another
	// key in here.
	derivedLabel   = "mizan derived key: "
	pageTokenLabel = "mizan page tokens"

	pageMACBytes    = 16 // of the HMAC
	pageTokenBytes  = 8 + pageMACBytes
	pageTokenLength = pageTokenBytes / 3 * 4 // of base64, without a remainder
)

// What may be wrong with a page token. A malformed one is told from a forged one
// by nobody.
var (
	ErrExpired = errors.New("the page token has expired")
	ErrInvalid = errors.New("the page token is not valid")
)

// Derive is a key of 32 bytes for the use that the label names; the same label
// gives the same key for as long as the keyring lives, whatever is rotated. It
// is derived (HKDF-SHA-256, RFC 5869) from the fingerprint key, of which it
// tells nothing. The label must not be empty.
func (k *Keyring) Derive(label string) []byte {
	assert.That(label != "", "a key is derived without a label")
	return k.derive(derivedLabel + label)
}

func (k *Keyring) derive(info string) []byte {
	key, err := hkdf.Key(sha256.New, k.fingerprint, nil, info, derivedKeyBytes)
	assert.NoError(err) // it refuses lengths above 8160 bytes only
	return key
}

// PageTokens makes and checks the tokens by which a payer reaches a page without
// signing in. Nothing is stored of them, and they outlive a restart and a
// rotation. It is safe for concurrent use.
type PageTokens struct{ key []byte }

// PageTokens are the keyring's.
func (k *Keyring) PageTokens() *PageTokens { return &PageTokens{key: k.derive(pageTokenLabel)} }

// Issue makes the token, 32 characters of base64url, that opens the page of this
// purpose for this record of the organization before expires, to the
// microsecond. The same arguments make the same token.
func (p *PageTokens) Issue(purpose string, org, id [16]byte, expires time.Time) string {
	var raw [pageTokenBytes]byte
	binary.BigEndian.PutUint64(raw[pageMACBytes:], uint64(expires.UnixMicro()))
	copy(raw[:], p.mac(purpose, org, id, raw[pageMACBytes:]))
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// Check tells whether Issue made the token for the same purpose, organization
// and record, and now is before its end. The error is ErrExpired for a token
// that was issued and has ended, ErrInvalid for whatever else.
func (p *PageTokens) Check(purpose string, org, id [16]byte, token string, now time.Time) error {
	var raw [pageTokenBytes]byte
	// The decoder skips line breaks; then what it makes of the length is too short.
	if len(token) != pageTokenLength {
		return ErrInvalid
	}
	if n, err := base64.RawURLEncoding.Decode(raw[:], []byte(token)); err != nil || n != pageTokenBytes {
		return ErrInvalid
	}
	if !hmac.Equal(raw[:pageMACBytes], p.mac(purpose, org, id, raw[pageMACBytes:])) {
		return ErrInvalid
	}
	if now.UnixMicro() >= int64(binary.BigEndian.Uint64(raw[pageMACBytes:])) {
		return ErrExpired
	}
	return nil
}

// mac is the token's HMAC-SHA-256, cut to 128 bits. The purpose comes first:
// what follows it has one length, so no two lists of arguments are one text.
func (p *PageTokens) mac(purpose string, org, id [16]byte, expires []byte) []byte {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(purpose))
	mac.Write(org[:])
	mac.Write(id[:])
	mac.Write(expires)
	return mac.Sum(nil)[:pageMACBytes]
}

// Format implements fmt.Formatter, so that no verb shows the key.
func (p PageTokens) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Redacted)) }

// LogValue implements slog.LogValuer.
func (p PageTokens) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText keeps the key out of every text and JSON encoder.
func (p PageTokens) MarshalText() ([]byte, error) { return []byte(Redacted), nil }
