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

// maxSealingKeys bounds the rotations of a keyring: one a week for 19 years. With that many
// keys the file stays below maxPrivateBytes.
const maxSealingKeys = 1000

// The errors of sealing and opening. None reveals anything about the plaintext.
var (
	ErrNoSealingKey = errors.New("there is no sealing key")
	ErrUnopened     = errors.New("the sealed text does not open: it is damaged, of another place, or its key is not in the keyring")
)

// SealingKey is the public information about a sealing key.
type SealingKey struct {
	ID        uint32
	IsPrimary bool // this key seals; exactly one key is primary
	IsEnabled bool // the key opens what it has sealed
}

// CanSeal tells whether there is a sealing key. Without one, Seal, Open and the functions that
// use them return ErrNoSealingKey.
func (k *Keyring) CanSeal() bool { return k.sealer != nil }

// SealingKeys lists the sealing keys, oldest first; empty if there are none.
func (k *Keyring) SealingKeys() []SealingKey {
	list := make([]SealingKey, k.sealingKeys.Len())
	for i := range list {
		entry, err := k.sealingKeys.Entry(i)
		assert.NoError(err) // i is in range
		list[i] = SealingKey{ID: entry.KeyID(), IsPrimary: entry.IsPrimary(), IsEnabled: entry.KeyStatus() == keyset.Enabled}
	}
	return list
}

// Seal encrypts plaintext with the primary key, so that it can be neither read nor changed.
// Open needs the same context, which names the place of the ciphertext (organization and
// record) and is not stored: a row that is moved to another place can't be opened. The context
// must not be empty. Seal keeps no reference to the plaintext; the caller wipes it.
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

// Open returns the plaintext that Seal sealed with the same context. The key may have been replaced
// since. The error is ErrUnopened, or ErrNoSealingKey. The caller must wipe the
// plaintext.
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

// parseSealingKeys parses the sealing keys. It drops the library's own errors, because they may
// quote the keys.
func (k *Keyring) parseSealingKeys(keys []byte) (err error) {
	if k.sealingKeys, err = insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(keys))); err == nil {
		k.sealer, err = aead.New(k.sealingKeys)
	}
	if err != nil {
		return fmt.Errorf("%s is not a set of AEAD keys with an enabled primary one", fieldSealingKeys)
	}
	return nil
}

// withNewSealingKey returns a keyring with one more sealing key, which is the primary one. The algorithm is
// XChaCha20-Poly1305, whose random nonces are long enough not to repeat. With the nonces of AES-GCM a key would have to
// be replaced before it has sealed 2^32 texts, but nothing forces an operator to replace a key.
func (k *Keyring) withNewSealingKey() (*Keyring, error) {
	if k.sealingKeys.Len() >= maxSealingKeys {
		return nil, fmt.Errorf("%s has %d keys already", fieldSealingKeys, k.sealingKeys.Len())
	}
	keys := keyset.NewManager()
	if k.sealingKeys != nil {
		keys = keyset.NewManagerFromHandle(k.sealingKeys)
	}
	id, err := keys.Add(aead.XChaCha20Poly1305KeyTemplate())
	assert.NoError(err)
	assert.NoError(keys.SetPrimary(id))
	handle, err := keys.Handle()
	assert.NoError(err)
	fields := maps.Clone(k.fields)
	fields[fieldSealingKeys] = encodeSealingKeys(handle)
	return fromFields(fields)
}

// encodeSealingKeys returns the sealing keys in tink's own JSON form. They are in plaintext, like the other keys in
// the file.
func encodeSealingKeys(keys *keyset.Handle) json.RawMessage {
	var out bytes.Buffer
	assert.NoError(insecurecleartextkeyset.Write(keys, keyset.NewJSONWriter(&out)))
	return out.Bytes()
}
