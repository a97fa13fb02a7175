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

	// The labels of derived keys. Derive puts derivedLabel before the label that its caller gives, so the result never equals
	// pageTokenLabel.
	derivedLabel   = "mizan derived key: "
	pageTokenLabel = "mizan page tokens"

	pageMACBytes    = 16 // the first bytes of the HMAC
	pageTokenBytes  = 8 + pageMACBytes
	pageTokenLength = pageTokenBytes / 3 * 4 // characters of base64, which needs no padding for this number of bytes
)

// Errors of PageTokens.Check. A caller can't tell a malformed token from a forged one.
var (
	ErrExpired = errors.New("the page token has expired")
	ErrInvalid = errors.New("the page token is not valid")
)

// Derive returns a key of 32 bytes for the use that the label names. The same label gives the
// same key for the lifetime of the keyring, independent of rotations. The key is derived
// (HKDF-SHA-256, RFC 5869) from the fingerprint key, and reveals nothing about it. The label
// must not be empty.
func (k *Keyring) Derive(label string) []byte {
	assert.That(label != "", "a key is derived without a label")
	return k.derive(derivedLabel + label)
}

func (k *Keyring) derive(info string) []byte {
	key, err := hkdf.Key(sha256.New, k.fingerprintKey, nil, info, derivedKeyBytes)
	assert.NoError(err) // HKDF refuses only lengths above 8160 bytes
	return key
}

// PageTokens makes and checks the tokens with which a payer opens a page without signing in. Tokens are not stored. They
// remain valid after a restart of the server and after a rotation of the sealing keys. PageTokens is safe for concurrent use.
type PageTokens struct{ key []byte }

// PageTokens returns the maker and checker of page tokens with this keyring's key.
func (k *Keyring) PageTokens() *PageTokens { return &PageTokens{key: k.derive(pageTokenLabel)} }

// Issue returns a token of 32 base64url characters. It opens the page that has this purpose, for
// this record of the organization, until the given instant (to the microsecond). The same arguments
// give the same token.
func (p *PageTokens) Issue(purpose string, org, id [16]byte, expires time.Time) string {
	var raw [pageTokenBytes]byte
	binary.BigEndian.PutUint64(raw[pageMACBytes:], uint64(expires.UnixMicro()))
	copy(raw[:], p.mac(purpose, org, id, raw[pageMACBytes:]))
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// Check checks that Issue made the token for the same purpose, organization and record, and
// that it has not expired. The error is ErrExpired for an expired token, and ErrInvalid for any
// other fault.
func (p *PageTokens) Check(purpose string, org, id [16]byte, token string, now time.Time) error {
	var raw [pageTokenBytes]byte
	// base64's decoder skips line breaks, so it is not enough to check the number of decoded bytes.
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

// mac returns the token's HMAC-SHA-256, cut to 128 bits. The purpose is first in the authenticated text, and everything after
// the purpose has a fixed length, so that different arguments never give the same text.
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

// MarshalText makes encoders of text and JSON write Redacted instead of the key.
func (p PageTokens) MarshalText() ([]byte, error) { return []byte(Redacted), nil }
