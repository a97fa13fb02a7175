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

// maxSealingKeys is the maximum number of sealing keys in a keyring. It is enough for one rotation a week for 19 years. With
// that many keys the file stays below maxPrivateBytes.
const maxSealingKeys = 1000

// The errors of sealing and opening. None reveals anything about the plaintext.
var (
	ErrNoSealingKey = errors.New("there is no sealing key")
	ErrUnopened     = errors.New("the sealed text can't be opened: it is damaged or from another record, or its key is not in the keyring")
)

// SealingKey describes a sealing key, without the key itself.
type SealingKey struct {
	ID        uint32
	IsPrimary bool // true for the key that seals; exactly one key is primary
	IsEnabled bool // the key can still open what it has sealed
}

// CanSeal tells whether the keyring has a sealing key. Without a sealing key, Seal, Open and the functions that use them
// return ErrNoSealingKey.
func (k *Keyring) CanSeal() bool { return k.sealer != nil }

// SealingKeys describes the sealing keys, the oldest first. The list is empty if the keyring has none.
func (k *Keyring) SealingKeys() []SealingKey {
	list := make([]SealingKey, k.sealingKeys.Len())
	for i := range list {
		entry, err := k.sealingKeys.Entry(i)
		assert.NoError(err) // Entry fails only for an index out of range
		list[i] = SealingKey{ID: entry.KeyID(), IsPrimary: entry.IsPrimary(), IsEnabled: entry.KeyStatus() == keyset.Enabled}
	}
	return list
}

// Seal encrypts the plaintext with the primary sealing key. Nobody without the key can read or change the result. The context
// names the place where the result is stored (organization and record). It is not part of the result, and Open needs the same
// context, so a ciphertext that was moved to another place can't be opened. The context must not be empty. Seal keeps no
// reference to the plaintext; the caller wipes it.
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

// Open returns the plaintext that Seal has encrypted with the same context, even if the sealing key was replaced since. The
// error is ErrUnopened, or ErrNoSealingKey. The caller must wipe the plaintext.
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

// parseSealingKeys parses the sealing keys. It does not return tink's own errors, because they may quote the keys.
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
// XChaCha20-Poly1305, whose random nonces are so long that they do not repeat. The nonces of AES-GCM are shorter: a key would
// have to be replaced before it has sealed 2^32 texts, but nothing forces an operator to replace a key.
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

// encodeSealingKeys returns the sealing keys in the JSON form of the library tink. The keys are not encrypted, like the other
// keys in the file.
func encodeSealingKeys(keys *keyset.Handle) json.RawMessage {
	var out bytes.Buffer
	assert.NoError(insecurecleartextkeyset.Write(keys, keyset.NewJSONWriter(&out)))
	return out.Bytes()
}
