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

	// Labels of derived keys. Derive puts derivedLabel in front of its caller's label, so no caller of Derive can obtain the
	// key of page tokens.
	derivedLabel   = "mizan derived key: "
	pageTokenLabel = "mizan page tokens"

	pageMACBytes    = 16 // the HMAC in a token is cut to this length
	pageTokenBytes  = 8 + pageMACBytes
	pageTokenLength = pageTokenBytes / 3 * 4 // length in base64; this number of bytes needs no padding
)

// Errors of PageTokens.Check. A caller can't tell a malformed token from a forged one.
var (
	ErrExpired = errors.New("the page token has expired")
	ErrInvalid = errors.New("the page token is not valid")
)

// Derive returns a key of 32 bytes. The label names the use of the key, and must not be empty. The same label gives the same
// key for the lifetime of the keyring, because a rotation does not change the result. The key is derived from the fingerprint
// key with HKDF-SHA-256 (RFC 5869), and reveals nothing about the fingerprint key.
func (k *Keyring) Derive(label string) []byte {
	assert.That(label != "", "a key is derived without a label")
	return k.derive(derivedLabel + label)
}

func (k *Keyring) derive(info string) []byte {
	key, err := hkdf.Key(sha256.New, k.fingerprintKey, nil, info, derivedKeyBytes)
	assert.NoError(err) // HKDF refuses only lengths above 8160 bytes
	return key
}

// PageTokens makes and checks page tokens. With a page token, a payer can open a page without signing in. Tokens are not
// stored. Tokens remain valid after a restart of the server and after a rotation of the sealing keys. PageTokens is safe for
// concurrent use.
type PageTokens struct{ key []byte }

// PageTokens returns a PageTokens with a key that is derived from this keyring.
func (k *Keyring) PageTokens() *PageTokens { return &PageTokens{key: k.derive(pageTokenLabel)} }

// Issue returns a token of 32 base64url characters. The token opens the page with the given purpose for the organization's
// record id. The token expires at the given time, exact to the microsecond. The same arguments give the same token.
func (p *PageTokens) Issue(purpose string, org, id [16]byte, expires time.Time) string {
	var raw [pageTokenBytes]byte
	binary.BigEndian.PutUint64(raw[pageMACBytes:], uint64(expires.UnixMicro()))
	copy(raw[:], p.mac(purpose, org, id, raw[pageMACBytes:]))
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// Check returns nil if Issue made the token for the same purpose, organization and record, and the token has not expired. It
// returns ErrExpired if the token has expired, and ErrInvalid if anything else is wrong.
func (p *PageTokens) Check(purpose string, org, id [16]byte, token string, now time.Time) error {
	var raw [pageTokenBytes]byte
	// The base64 decoder skips line breaks, so it is not enough to check the number of decoded bytes.
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

// mac returns the token's HMAC-SHA-256, cut to 128 bits. The authenticated text is the purpose, followed by three parts of a
// fixed length. So different arguments never give the same text.
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
