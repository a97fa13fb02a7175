package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"mizan/internal/assert"
)

// maxSealingKeys bounds the rotations of a keyring: one a week for 19 years. The
// file stays below maxPrivate with them.
const maxSealingKeys = 1000

// What sealing and opening may end with. None of them says anything about what
// was, or should have been, inside.
var (
	ErrNoSealingKey = errors.New("there is no sealing key")
	ErrUnopened     = errors.New("the sealed text does not open: it is damaged, of another place, or its key is not in the keyring")
)

// SealingKey is what may be told of a sealing key.
type SealingKey struct {
	ID      uint32
	Primary bool // everything is sealed by this one; exactly one is primary
	Enabled bool // it opens what it sealed
}

// CanSeal tells whether there is a sealing key. Without one Seal and Open, and
// what stands on them, return ErrNoSealingKey.
func (k *Keyring) CanSeal() bool { return k.sealer != nil }

// SealingKeys lists the sealing keys, the oldest first; empty: none.
func (k *Keyring) SealingKeys() []SealingKey {
	list := make([]SealingKey, k.sealing.Len())
	for i := range list {
		entry, err := k.sealing.Entry(i)
		assert.NoError(err) // i is in range
		list[i] = SealingKey{ID: entry.KeyID(), Primary: entry.IsPrimary(), Enabled: entry.KeyStatus() == keyset.Enabled}
	}
	return list
}

// Seal encrypts plaintext by the primary key, so that it can be neither read nor
// changed. It opens with the same context only, which says where the text
// belongs (organization and record) and is not stored: a row that is moved to
// another place is as good as damaged. The context must not be empty. The
// plaintext is not kept; wiping it is the caller's.
func (k *Keyring) Seal(plaintext, context []byte) ([]byte, error) {
	assert.That(len(context) > 0, "a text is sealed without a context")
	if k.sealer == nil {
		return nil, ErrNoSealingKey
	}
	sealed, err := k.sealer.Encrypt(plaintext, context)
	if err != nil {
		return nil, errors.New("the text can't be sealed")
	}
	return sealed, nil
}

// Open is the plaintext of what Seal made with the same context, by this key or
// an earlier one. The error is ErrUnopened, or ErrNoSealingKey. The plaintext is
// the caller's to wipe.
func (k *Keyring) Open(sealed, context []byte) ([]byte, error) {
	if k.sealer == nil {
		return nil, ErrNoSealingKey
	}
	plaintext, err := k.sealer.Decrypt(sealed, context)
	if err != nil {
		return nil, ErrUnopened
	}
	return plaintext, nil
}

// parseSealing reads the sealing keys. The library's own errors are left out:
// nobody has promised that they quote nothing.
func (k *Keyring) parseSealing(keys []byte) (err error) {
	if k.sealing, err = insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(keys))); err == nil {
		k.sealer, err = aead.New(k.sealing)
	}
	if err != nil {
		return fmt.Errorf("%s is not a set of AEAD keys with an enabled primary one", fieldSealingKeys)
	}
	return nil
}

// rotated is the keyring with another sealing key, which is the primary one. It
// is XChaCha20-Poly1305, whose random nonces are long enough never to meet; with
// those of AES-GCM a key would have to be replaced before 2^32 texts, and nobody
// is made to rotate.
func (k *Keyring) rotated() (*Keyring, error) {
	if k.sealing.Len() >= maxSealingKeys {
		return nil, fmt.Errorf("%s has %d keys already", fieldSealingKeys, k.sealing.Len())
	}
	keys := keyset.NewManager()
	if k.sealing != nil {
		keys = keyset.NewManagerFromHandle(k.sealing)
	}
	id, err := keys.Add(aead.XChaCha20Poly1305KeyTemplate())
	assert.NoError(err)
	assert.NoError(keys.SetPrimary(id))
	handle, err := keys.Handle()
	assert.NoError(err)
	fields := maps.Clone(k.fields)
	fields[fieldSealingKeys] = encodeSealing(handle)
	return fromFields(fields)
}

// encodeSealing is tink's own JSON form. The keys are in the clear, as the
// others of the file are.
func encodeSealing(keys *keyset.Handle) json.RawMessage {
	var out bytes.Buffer
	assert.NoError(insecurecleartextkeyset.Write(keys, keyset.NewJSONWriter(&out)))
	return out.Bytes()
}
